import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from classwise import limits

common = {"deadline": None, "max_examples": 60, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("explore", **common)
settings.register_profile("ci", **common, derandomize=True)  # the same examples on every run
settings.load_profile("ci" if os.environ.get("CI") else "explore")


@pytest.fixture(autouse=True, scope="module")
def small_stacks() -> Iterator[None]:
    """Every stack that tests fit has trees, a kernel and networks: with few of their parts they are quick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "STACK_TREES", 20)
        patch.setattr(limits, "MOST_LANDMARKS", 60)
        patch.setattr(limits, "FEWEST_LANDMARKS", 15)
        patch.setattr(limits, "NETWORK_UNITS", (8,))
        patch.setattr(limits, "DEEP_NETWORK_UNITS", (6, 4))
        yield


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of full reference outputs (R, 60 digits); tests that need it are skipped where it is absent."""
    folder = os.environ.get("CLASSWISE_REFERENCE")
    if not folder:
        pytest.skip("CLASSWISE_REFERENCE does not name a folder of reference outputs")
    return Path(folder)


@pytest.fixture(scope="session")
def data() -> Path:
    """A folder of real tables (gzipped CSV) and their manifest; tests that need it are skipped where it is absent."""
    folder = os.environ.get("CLASSWISE_DATA")
    if not folder:
        pytest.skip("CLASSWISE_DATA does not name a folder of tables")
    return Path(folder)
