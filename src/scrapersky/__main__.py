"""Entry point of `python -m scrapersky`."""

from scrapersky.cli import main

if __name__ == "__main__":
    main()
