# judge in a container: docker build -t judge .
#
#   VARIANT  cpu, or gpu: with vLLM, for NVIDIA's cards
#   EXTRAS   what to install, as pip names extras: serve,figures or serve,metrics
#   BASE     Debian 12, or an image like it
#
# docs/install.md says how to run it.
ARG BASE=debian:bookworm-slim

# hadolint ignore=DL3006
FROM ${BASE} AS python
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libstdc++6 python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

FROM python AS installed
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends binutils python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist . \
    && python3 -m venv --without-pip /opt/judge
ARG VARIANT=cpu
ARG EXTRAS=
# vLLM pins what constraints.txt pins otherwise, and pip's own choice is among what it pins.
RUN set -eu; \
    case $VARIANT in \
        cpu) extras=${EXTRAS:-serve}; export PIP_CONSTRAINT=constraints.txt ;; \
        gpu) extras=${EXTRAS:-serve,vllm} ;; \
        *) echo "VARIANT is cpu or gpu, not $VARIANT" >&2; exit 2 ;; \
    esac; \
    pip --python /opt/judge/bin/python install --no-cache-dir --no-compile \
        "$(echo /dist/*.whl)[$extras]"; \
    sh container/trim /opt/judge/lib/python3*/site-packages

FROM python AS system
ARG VARIANT=cpu
# On a GPU, Triton compiles kernels when a model is loaded. Else what installs packages has no
# work left, nor have encodings other than UTF-8.
# hadolint ignore=DL3008
RUN set -eu; \
    useradd --uid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin judge; \
    install -d -m 700 -o judge -g judge /data /data/cache /data/runs; \
    if [ "$VARIANT" = gpu ]; then \
        apt-get update; \
        apt-get install -y --no-install-recommends gcc libc6-dev python3-dev; \
        rm -rf /var/lib/apt/lists/* /var/cache/apt/*; \
    else \
        dpkg --purge --force-all adduser apt debconf e2fsprogs gpgv libapt-pkg6.0 libext2fs2 \
            libgcrypt20 libgnutls30 libhogweed6 libidn2-0 libnettle8 libp11-kit0 libunistring2 \
            perl-base; \
        rm -rf /usr/lib/*/gconv /usr/share/doc /usr/share/info /usr/share/locale /usr/share/man; \
    fi

# Copied whole, so that what was taken out is in no layer below.
FROM scratch
LABEL org.opencontainers.image.title="judge" \
      org.opencontainers.image.description="Finds out what radiology report-generation models get wrong" \
      org.opencontainers.image.licenses="MIT"
# hadolint ignore=DL3067
COPY --from=system / /
COPY --from=installed /opt/judge /opt/judge
# Compiled modules are kept beside the answers: they would be a tenth of the image.
ENV PATH=/opt/judge/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    HOME=/data \
    JUDGE_CACHE=/data/cache \
    JUDGE_CONFIG=/data/cache/config \
    PYTHONPYCACHEPREFIX=/data/cache/python
USER 10001:10001
WORKDIR /data
VOLUME ["/data/cache", "/data/runs"]
EXPOSE 8321
# Without the token a service that is well says that one is needed.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s \
    CMD ["python3", "-I", "-c", "from http.client import HTTPConnection as C; c = C('127.0.0.1', 8321, timeout=8); c.request('GET', '/v1/runs'); raise SystemExit(c.getresponse().status not in (200, 401))"]
ENTRYPOINT ["judge"]
CMD ["serve", "--host", "0.0.0.0", "--runs", "/data/runs"]
