"""Builds the compiled kernels where there is a compiler; without one, classwise works in NumPy alone."""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("src/classwise/kernels/native")


class OptionalKernels(build_ext):
    """The kernels need GCC or Clang, for their vectors, and Python's header files. Without them, one line says so."""

    def build_extension(self, ext: Extension) -> None:
        if self.compiler.compiler_type == "msvc":
            self._tell("the kernels are written for GCC and Clang")
            return
        try:
            super().build_extension(ext)
        except Exception:  # whatever a compiler, or the lack of one, comes up with: its own words are above
            self._tell("no C++ compiler could build them")

    def _tell(self, why: str) -> None:
        print(f"classwise is installed without compiled kernels, which make it faster: {why}.", file=sys.stderr)


setup(
    ext_modules=[
        Extension(
            "classwise.kernels._native",
            sources=sorted(str(path) for path in NATIVE.glob("*.cpp")),
            depends=sorted(str(path) for path in (*NATIVE.glob("*.h"), *NATIVE.glob("*.inl"))),
            extra_compile_args=["-std=c++17", "-O3", "-Wno-psabi", "-fvisibility=hidden", "-g0"],
            extra_link_args=["-pthread"],
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"build_ext": OptionalKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
