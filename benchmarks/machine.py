"""What the numbers were measured on."""

import os
import platform
from typing import Any

import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_info

import classwise


def cores() -> int:
    """The cores that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def facts() -> dict[str, Any]:
    packages = [classwise, numpy, scipy, sklearn]
    return {
        "cores": cores(),
        "load": os.getloadavg()[0],
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        **{package.__name__: package.__version__ for package in packages},
        "blas": _libraries(),
    }


def _libraries() -> list[str]:
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = {f"{b['internal_api']} {b['version']} {b.get('architecture', '')} x{b['num_threads']}" for b in found}
    return sorted(names)
