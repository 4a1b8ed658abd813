# The package with the versions that its tests run with:
#
#   docker build -t flowsched-gym .
#   docker run --rm -v "$PWD/demo:/flowsched-gym/demo" flowsched-gym                # trains an agent: make demo
#   docker run --rm -it flowsched-gym .venv/bin/flowsched list                      # any other command
#
# With --build-arg EXTRA=dev, what a contributor needs:
#
#   docker build --build-arg EXTRA=dev -t flowsched-gym:dev .
#   docker run --rm -v "$PWD/site:/flowsched-gym/docs/_build" flowsched-gym:dev make docs
FROM python:3.12-slim

ARG EXTRA=train
# PyTorch without the gigabytes of CUDA.
ARG PIP_OPTIONS="--no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu"

RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /flowsched-gym
COPY . .
RUN make PIP_OPTIONS="$PIP_OPTIONS" ".venv/.$EXTRA"
CMD ["make", "demo"]
