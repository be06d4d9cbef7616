from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Wallheat(CMakePackage, CudaPackage):
    """Steady-state heat of thousands of building floor plans, on a cluster, into one HDF5 file."""

    homepage = "https://example.org/wallheat"  # no public homepage exists yet: see configs/packages/README.md
    git = "https://example.org/wallheat.git"

    version("main", branch="main")

    variant("mpi", default=True, description="Support runs on several nodes")
    variant("plots", default=True, description="Draw pictures and plots with gnuplot")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi", when="+mpi")
    depends_on("hdf5@1.10.7:+hl~mpi")
    depends_on("libdeflate")
    depends_on("libpng@1.6:")
    depends_on("hwloc@2:")
    depends_on("boost@1.74:+program_options")
    depends_on("fmt@9:")
    depends_on("spdlog")
    depends_on("nlohmann-json")
    depends_on("xxhash@0.8:")
    depends_on("sqlite@3.38:")
    depends_on("gnuplot", type="run", when="+plots")

    conflicts("%gcc@:11")
    conflicts("^cuda@:11", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("WALLHEAT_TESTS", False),
            self.define_from_variant("WALLHEAT_MPI", "mpi"),
            self.define("WALLHEAT_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
        ]

    def setup_run_environment(self, env):
        env.prepend_path("PATH", self.prefix.share.wallheat.jobs)  # launch.sh, submit.sh
