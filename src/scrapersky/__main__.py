"""`python -m scrapersky` is the command line."""

from scrapersky.cli import main

if __name__ == "__main__":
    main()
