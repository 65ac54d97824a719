"""Keys in files: made for their owner alone, read with a sentence when something is wrong, and deciders read again."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from adjourn import Deciders, Invalid, InvalidDefinition, Misused, Runtime, SigningKey
from adjourn.core.records import Decided
from adjourn.driver import decider_keys as keys_module
from adjourn.driver.decider_keys import BadDeciders

YES = Decided(i="1.0?0", verdict="approve", by="ana", at=1000.0)


@pytest.fixture
def key() -> SigningKey:
    return SigningKey.new()


def signed(key: SigningKey) -> Decided:
    return key.sealed(YES, store="s", run="r", of="d", now=1000.0)


def flaw(deciders: Deciders, record: Decided, run: str = "r") -> str:
    return deciders.trusting("s").flaw(run, record, "d")


# Signing keys


def test_a_key_is_kept_for_its_owner_and_comes_back(key: SigningKey, tmp_path: Path) -> None:
    key.save(tmp_path / "key")
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    again = SigningKey.load(tmp_path / "key")
    assert (again.public, again.kid) == (key.public, key.kid)
    assert flaw(Deciders([key.line("prod")]), signed(again)) == ""


def test_a_key_is_never_replaced(key: SigningKey, tmp_path: Path) -> None:
    key.save(tmp_path / "key")
    before = (tmp_path / "key").read_bytes()
    with pytest.raises(Invalid, match="already exists, and a key is never replaced"):
        SigningKey.new().save(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == before
    with pytest.raises(Invalid, match="cannot be written"):
        key.save(tmp_path / "nowhere" / "key")


@pytest.mark.skipif(os.name != "posix", reason="rights are another matter elsewhere")
@pytest.mark.parametrize("mode", [0o604, 0o602, 0o666, 0o644])
def test_a_key_that_everybody_can_use_is_refused(key: SigningKey, tmp_path: Path, mode: int) -> None:
    key.save(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(InvalidDefinition, match="every user of this machine can read the key.*chmod 600"):
        SigningKey.load(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)  # a group of its own is how secrets are mounted
    SigningKey.load(tmp_path / "key")


def test_what_is_no_signing_key_is_refused_by_its_name(key: SigningKey, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    other = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for text, why in (
        (b"", "is not a signing key"),
        (b"secret", "is not a signing key"),
        (key.line("prod").encode(), "is not a signing key"),
        (other, "a key of another kind, not Ed25519"),
    ):
        (tmp_path / "key").write_bytes(text)
        (tmp_path / "key").chmod(0o600)
        with pytest.raises(InvalidDefinition, match=why):
            SigningKey.load(tmp_path / "key")
    with pytest.raises(InvalidDefinition, match="cannot be read: No such file"):
        SigningKey.load(tmp_path / "nowhere")
    with pytest.raises(InvalidDefinition, match="signing_key= must be the path"):
        Runtime("memory://", signing_key=5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidDefinition, match="signing_key= must be the path"):
        Runtime("memory://", signing_key="")


def test_a_nonce_is_used_once(key: SigningKey) -> None:
    assert len({x.seal.nonce for _ in range(100) if (x := signed(key)).seal}) == 100


# Deciders


def test_deciders_are_a_path_lines_or_themselves(key: SigningKey, tmp_path: Path) -> None:
    path = tmp_path / "deciders"
    path.write_text(key.line("prod") + "\n")
    made = Deciders(path)
    for given in (path, str(path), [key.line("prod")], key.line("prod"), f"# who\n{key.line('prod')}\n", made):
        found = Deciders.of(given)
        assert found is not None and flaw(found, signed(key)) == ""
    assert Deciders.of(None) is None and Deciders.of(made) is made
    for wrong in (5, [b"x"], object()):
        with pytest.raises(InvalidDefinition, match="deciders= must be the path of a file, its lines, or a Deciders"):
            Deciders.of(wrong)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("text", ["", "# nobody\n", "ed25519 x authority prod\n", None])
def test_a_file_that_is_wrong_is_refused_by_its_name_when_it_is_given(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "deciders"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadDeciders, match="deciders"):
        Deciders(path)


def test_the_file_is_read_again_when_it_changes(key: SigningKey, tmp_path: Path) -> None:
    path, new = tmp_path / "deciders", SigningKey.new()
    path.write_text(key.line("old") + "\n")
    deciders = Deciders(path)
    assert (flaw(deciders, signed(key)), bool(flaw(deciders, signed(new)))) == ("", True)
    version = deciders.version
    path.write_text(f"{key.line('old')}\n{new.line('new')}\n")  # rotation: both for a while
    assert (flaw(deciders, signed(key)), flaw(deciders, signed(new))) == ("", "")
    assert deciders.version > version
    path.write_text(f"{key.line('old')} until=1970-01-01T00:16:40\n{new.line('new')}\n")  # at 1000 s
    assert "had expired" in flaw(deciders, signed(key)) and flaw(deciders, signed(new)) == ""
    early = key.sealed(Decided(i="1.0?0", verdict="approve", by="ana", at=999.0), store="s", run="r", of="d", now=999.0)
    assert flaw(deciders, early) == ""
    path.write_text(new.line("new") + "\n")  # revocation: whatever it signed, whenever it says that was
    assert "which does not belong to a decider" in flaw(deciders, early)
    version = deciders.version
    deciders.check()
    assert deciders.version == version, "an unchanged file is not read again"


def test_a_file_that_became_wrong_stops_what_is_next_and_keeps_what_was(key: SigningKey, tmp_path: Path) -> None:
    path = tmp_path / "deciders"
    path.write_text(key.line("prod") + "\n")
    deciders = Deciders(path)
    for broken in ("ed25519 oops", None):
        if broken is None:
            path.unlink()
        else:
            path.write_text(broken)
        with pytest.raises(BadDeciders, match="line 1|cannot be read"):
            deciders.check()
        assert flaw(deciders, signed(key)) == "", "what goes on already goes on"
    path.write_text(key.line("prod") + "\n")
    deciders.check()


def test_a_signature_is_verified_once(key: SigningKey, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    verify = keys_module._verified

    def counted(public: bytes, signature: bytes, text: bytes) -> bool:
        seen.append(signature)
        return verify(public, signature, text)

    monkeypatch.setattr(keys_module, "_verified", counted)
    deciders, record = Deciders([key.line("prod")]), signed(key)
    for _ in range(3):
        assert flaw(deciders, record) == ""
        assert flaw(deciders, record, run="another"), "what is remembered is the signature of this, not of anything"
    assert len(seen) == 2
    monkeypatch.setattr(keys_module, "REMEMBERED", 2)
    flaw(deciders, signed(key))
    assert len(deciders._known) == 1, "and no more than so many"


@pytest.mark.skipif(os.name != "posix" or not os.geteuid(), reason="root can write everything")
def test_a_file_that_the_worker_can_write_is_told(
    key: SigningKey, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "deciders"
    path.write_text(key.line("prod") + "\n")
    Deciders(path)
    assert "its tools can add themselves as deciders" in caplog.text


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import builtins

    real = builtins.__import__

    def absent(name: str, *args: Any, **more: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "cryptography":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    for use in (SigningKey.new, lambda: SigningKey.load(tmp_path / "key"), lambda: Deciders(["ed25519 x"])):
        with pytest.raises(Misused, match=r"pip install 'adjourn\[signing\]'"):
            use()
