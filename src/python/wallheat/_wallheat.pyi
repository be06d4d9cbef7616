"""The C++ part of the package. The Python modules next to it describe the parameters."""

from typing import Any

import numpy as np
import numpy.typing as npt

version: str

def solve(domain: npt.NDArray[Any], interior: npt.NDArray[Any], source: npt.NDArray[Any] | None, device: str,
          settings: dict[str, str], /) -> dict[str, Any]: ...
def jacobi(u: npt.NDArray[np.float64], interior_mask: npt.NDArray[np.bool_], max_iter: int, atol: float,
           /) -> npt.NDArray[np.float64]: ...
