"""Requests of the page besides dials: a point, rows of the model, a job, a remedy, the command of a view."""

from msgspec import Struct

from classwise.studio.dials import Dials
from classwise.studio.options import Opening


class PointRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A point of the picture, or one of the rows that are drawn."""

    dials: Dials = Dials()
    point: list[float] = []
    row: int | None = None


class SampleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A number of rows to draw from the model."""

    dials: Dials = Dials()
    count: int = 200
    seed: int = 0


class JobRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A job to begin."""

    job: str


class FlagRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A remedy of a finding, to be added to how the table is opened."""

    opening: Opening
    flag: str


class ViewRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What follows # in the address."""

    view: str
