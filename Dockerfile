# The program in .venv, made by the same `make install` as everywhere else, run by a user of its own.
# The Python is the one everything is tested with.
FROM python:3.11-slim AS build

RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/scrapersky
COPY Makefile pyproject.toml requirements.lock README.md ./
COPY src ./src
RUN make install

FROM python:3.11-slim

RUN groupadd --gid 10001 scrapersky \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/scrapersky --create-home \
       --shell /usr/sbin/nologin scrapersky
# At the same path: what is in .venv knows where it is.
COPY --from=build /opt/scrapersky /opt/scrapersky

ENV PATH=/opt/scrapersky/.venv/bin:$PATH
ENV PYTHONUNBUFFERED=1
# A container listens on all of its addresses, and without sign-in the server would refuse to.
ENV AUTH_MODE=required
ENV LOG_FORMAT=json
# The embedded database, if DATABASE_URL is empty, and the erasure key: mount a volume here.
ENV SCRAPERSKY_DATA_DIR=/var/lib/scrapersky

WORKDIR /var/lib/scrapersky
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["scrapersky"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
