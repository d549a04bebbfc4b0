"""The engine: claims due rows, works them, stores the results. It knows no feature."""
