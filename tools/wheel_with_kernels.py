"""Build a wheel that carries compiled kernels: the first command on a machine of the same kind then compiles nothing.

Numba takes a compiled kernel from the `__pycache__` beside its source if Numba's version, Python's version, the source
and the processor are those it was compiled for, and compiles otherwise; so such a wheel is right everywhere and fast
where it fits. To carry kernels for several processors, run this on one machine of each kind with the same `--kernels`
folder: what is compiled is added to what is there.

python tools/wheel_with_kernels.py OUT [--kernels FOLDER]
"""

import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Compile, build, and print where the wheel is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, help="folder for the wheel")
    parser.add_argument("--kernels", type=Path, help="folder of compiled kernels, kept and added to")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source / name)
        if words.kernels is not None and words.kernels.is_dir():
            shutil.copytree(words.kernels, source / "src", dirs_exist_ok=True)
        compile_beside(source / "src")
        if words.kernels is not None:
            for path in compiled_files(source / "src"):
                kept = words.kernels / path.relative_to(source / "src")
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept)
        print(wheel_of(source, words.out))


def compile_beside(src: Path) -> None:
    """Compile every kernel into the `__pycache__` beside it."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-m", "reluflow", "warm-up"]
    subprocess.run(command, env={**environment, "PYTHONPATH": str(src)}, check=True)


def compiled_files(src: Path) -> list[Path]:
    """Compiled kernels, their indices, and the record of what there is."""
    files = (path for path in src.rglob("__pycache__/*") if path.is_file())
    return [path for path in files if path.suffix in (".nbi", ".nbc") or path.name == "compiled-kernels.txt"]


def wheel_of(source: Path, out: Path) -> Path:
    """The ordinary wheel, with the compiled files and their entries in its record."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(source)]
    subprocess.run(command, check=True)
    wheel = max(out.glob("reluflow-*.whl"), key=lambda path: path.stat().st_mtime)
    carried = {path.relative_to(source / "src").as_posix(): path for path in compiled_files(source / "src")}
    partial = wheel.with_suffix(".partial")
    with zipfile.ZipFile(wheel) as plain, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as full:
        for item in plain.infolist():
            content = plain.read(item)
            if item.filename.endswith(".dist-info/RECORD"):
                content += "".join(f"{name}\n" for name in map(_record_line, carried, carried.values())).encode()
            full.writestr(item, content)
        for name, path in carried.items():
            full.write(path, name)
    partial.replace(wheel)
    return wheel


def _record_line(name: str, path: Path) -> str:
    content = path.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


if __name__ == "__main__":
    main()
