"""Compares a series of plans in ParaView with NPY files: pvpython read_by_paraview.py SERIES.xdmf FIELD.npy...

The fields are those of all steps of the series, in order.
"""

import sys

import numpy as np
from paraview import servermanager, simple
from vtkmodules.util.numpy_support import vtk_to_numpy


def compare(reader, time, file):
    simple.UpdatePipeline(time=time, proxy=reader)
    image = servermanager.Fetch(reader)
    if image.IsA("vtkMultiBlockDataSet"):  # one block per shape; one of them has this step
        image, = filter(None, (image.GetBlock(n) for n in range(image.GetNumberOfBlocks())))
    found = vtk_to_numpy(image.GetCellData().GetArray("temperature"))
    field = np.load(file)
    rows, cols = field.shape
    assert image.GetExtent()[:4] == (0, cols, 0, rows), image.GetExtent()
    assert (found.reshape(field.shape) == field).all(), file
    print("ParaView", simple.GetParaViewVersion(), "shows", file)


series, *fields = sys.argv[1:]
reader = simple.XDMFReader(FileNames=[series])
reader.UpdatePipelineInformation()
assert sorted(reader.TimestepValues) == list(range(len(fields))), reader.TimestepValues
for step, name in enumerate(fields):
    compare(reader, step, name)
