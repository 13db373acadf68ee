"""What pytest need not look into for examples."""

from importlib.util import find_spec

# Kernels import Triton, and with it torch, which need not be installed.
collect_ignore_glob = [] if find_spec("triton") and find_spec("torch") else ["src/classwise/engines/device_*kernels.py"]
