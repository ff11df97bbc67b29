#!/bin/bash
export PATH=./.campaign/toolchains/mpich-5.0.2/bin:./.venv/bin:$PATH
cp ./.campaign/sessions/20261121T025029Z-1d2300/stage/local/wire/mpich-5_0_2/nbc_overlap_basic_8d3038db/record.jsonl record.jsonl
cp ./.campaign/sessions/20261121T025029Z-1d2300/stage/local/wire/mpich-5_0_2/nbc_overlap_basic_8d3038db/sizes.json sizes.json
cp ./.campaign/sessions/20261121T025029Z-1d2300/stage/local/wire/mpich-5_0_2/nbc_overlap_basic_8d3038db/wire.json wire.json
