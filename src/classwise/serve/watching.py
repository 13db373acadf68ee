"""Hot reload: files are looked at every second, and read again, in a thread, when they have changed."""

import asyncio
import logging

from classwise.serve.models import Models

LOG = logging.getLogger("classwise.serve")


async def watch(models: Models, seconds: float) -> None:
    """Look after the files of models, for as long as the server runs."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await look(models)
        except Exception:  # a file system that fails now may be back in a second
            LOG.exception("The files of the models could not be looked at.")


async def look(models: Models) -> None:
    """Look once: read what has changed, and put it in place."""
    for name in await asyncio.to_thread(models.changed):
        put_in_place = await asyncio.to_thread(models.refresh, name)
        put_in_place()
