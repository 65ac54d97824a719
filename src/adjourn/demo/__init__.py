"""The demo: agents with scripted models, a server and a worker to play with, and the tour that
checks every claim."""
