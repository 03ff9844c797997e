"""Property tests are about properties: how long an example takes on a busy machine is not one of them."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
