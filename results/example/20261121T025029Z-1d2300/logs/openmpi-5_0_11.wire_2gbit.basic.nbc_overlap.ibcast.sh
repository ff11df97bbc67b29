#!/bin/bash
export PATH=./.campaign/toolchains/openmpi-5.0.11/bin:./.venv/bin:$PATH
cp ./.campaign/sessions/20261121T025029Z-1d2300/stage/local/wire/openmpi-5_0_11/nbc_overlap_basic_c135a86a/record.jsonl record.jsonl
cp ./.campaign/sessions/20261121T025029Z-1d2300/stage/local/wire/openmpi-5_0_11/nbc_overlap_basic_c135a86a/sizes.json sizes.json
cp ./.campaign/sessions/20261121T025029Z-1d2300/stage/local/wire/openmpi-5_0_11/nbc_overlap_basic_c135a86a/wire.json wire.json
