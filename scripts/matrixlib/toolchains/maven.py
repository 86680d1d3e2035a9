"""Java: packages by Maven. Maven has no lock: ours has every jar, with its SHA-256."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.sax.saxutils import escape

from matrixlib.shell import InstallError, path_of, run
from matrixlib.toolchains.locks import LOCKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies"
_HEAD: Final = "# Every jar of the group, pinned by scripts/matrix --lock.\n"
_SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""Of a Java that does not run long enough for its second compiler to pay."""
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>toolstream</groupId>
  <artifactId>drivers</artifactId>
  <version>0</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_ALONE: Final = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


class Jar(NamedTuple):
    """A jar as Maven names it."""

    group: str
    artifact: str
    version: str
    classifier: str = ""

    @property
    def file(self) -> str:
        """Its name in a folder of jars."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    def dependency(self, more: str = "") -> str:
        """As a POM has it."""
        values = zip(("groupId", "artifactId", "version", "classifier"), self, strict=True)
        words = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in values if value)
        return f"    <dependency>{words}{more}</dependency>"


@dataclass(frozen=True, slots=True)
class Maven:
    """A JDK and Maven."""

    wanted: tuple[str, ...]
    """`group:artifact:version`; the version may be `RELEASE`, the newest, or a range of versions."""
    needs: tuple[str, ...] = ("java", "javac", "mvn")
    requires: str = "JDK 17 or newer, mvn"
    drivers: str = "java"
    suffix: str = ".java"

    def lock(self, group: str) -> Path:
        """A line for each jar: `group:artifact:version[:classifier] sha256:HEX`."""
        return LOCKS / group / "jars.lock"

    def version(self, lock: Path | None, package: str) -> str | None:
        """Of `group:artifact`."""
        if lock is None or not lock.exists():
            return None
        return next((jar.version for jar, _ in _read(lock) if f"{jar.group}:{jar.artifact}" == package), None)

    def pin(self, lock: Path, folder: Path, tools: Path) -> None:
        """What Maven finds for the group."""
        del tools
        jars = _copied(folder, (Jar(*one.split(":")).dependency() for one in self.wanted))
        lines = sorted(f"{':'.join(filter(None, jar))} sha256:{_hash(path)}" for jar, path in jars)
        lock.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")

    def install(self, lock: Path | None, folder: Path, tools: Path) -> None:
        """Every jar of the lock and no other, as it was when it was pinned."""
        assert lock is not None
        del tools
        hashes = dict(_read(lock))
        (folder / "jars").mkdir()
        for jar, path in _copied(folder, (jar.dependency(_ALONE) for jar in hashes)):
            if hashes.pop(jar, None) != _hash(path):
                raise InstallError(f"{jar.file} is not the one that is pinned")
            shutil.move(path, folder / "jars" / jar.file)
        if hashes:
            raise InstallError(f"{next(iter(hashes)).file} was not found")

    def serving(self, driver: str, folder: Path) -> AbstractContextManager[None]:
        """It starts as it stands."""
        del driver, folder
        return nullcontext()

    def command(self, driver: str, folder: Path) -> list[str]:
        """The driver's class, compiled with what it uses of the others."""
        jars, classes, sources = folder / "jars" / "*", folder / "classes", folder / "drivers"
        source = ("-sourcepath", sources, sources / driver)
        run([path_of("javac"), "--release", "17", "-nowarn", "-proc:none", "-cp", jars, "-d", classes, *source])
        path = os.pathsep.join((str(classes), str(jars)))
        return ["java", *_SHORT_LIVED, "-cp", path, PurePath(driver).stem]


def _copied(folder: Path, dependencies: Iterable[str]) -> list[tuple[Jar, Path]]:
    """The jars of these dependencies, in a folder laid out as a Maven repository is."""
    (folder / "pom.xml").write_text(_POM.format(dependencies="\n".join(dependencies)), encoding="utf-8")
    repository = folder / "repository"
    layout = ("-Dmdep.useRepositoryLayout=true", f"-DoutputDirectory={repository}")
    only = ("-DincludeScope=runtime", "-DincludeTypes=jar")
    run([path_of("mvn"), "-q", "-B", "-f", folder / "pom.xml", _PLUGIN, *layout, *only])
    return [(jar_of(path.relative_to(repository)), path) for path in sorted(repository.rglob("*.jar"))]


def jar_of(path: PurePath) -> Jar:
    """The jar of a path in a repository: `group/parts/artifact/version/artifact-version[-classifier].jar`."""
    *group, artifact, version, name = path.parts
    classifier = name.removeprefix(f"{artifact}-{version}").removesuffix(".jar").removeprefix("-")
    return Jar(".".join(group), artifact, version, classifier)


def _read(lock: Path) -> Iterator[tuple[Jar, str]]:
    for line in lock.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"([^#\s]+) sha256:(\w+)", line):
            yield Jar(*match[1].split(":")), match[2]


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
