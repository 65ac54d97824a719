"""Images, audio and documents: in what a run is started with, in what tools return, and in replies."""

from adjourn.core.files import Audio, Document, File, Image

__all__ = ["Audio", "Document", "File", "Image"]
