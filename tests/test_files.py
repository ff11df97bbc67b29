"""Files that others may read, or write, at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mpi_campaign import files


def test_many_may_write_one_file_at_once(tmp_path: Path) -> None:
    """As campaigns that begin together do with what they share."""
    path = tmp_path / "shared.yaml"
    texts = {f"{number}\n" * 5000 for number in range(8)}

    def write(text: str) -> None:
        for _ in range(20):
            files.write_atomically(path, text)
            assert path.read_text() in texts

    with ThreadPoolExecutor(len(texts)) as pool:
        for done in [pool.submit(write, text) for text in texts]:
            done.result()
    assert list(tmp_path.iterdir()) == [path]
