"""Page classification by URL and link text."""
