"""The real program under pytest-lsp, each time in a place of its own."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import ClientServerConfig

from editor import LONG, Editor, new_client

GIVEN = Path(__file__).parent.parent / "given"


@pytest_asyncio.fixture
async def start(tmp_path):
    """Starts the program for an editor that knows Aside's part of the protocol, or does not."""
    editors = []
    # What the servers write to their standard error: nothing.
    complaints = tmp_path / "complaints"
    workspace = tmp_path / "workspace"
    shutil.copytree(GIVEN / "workspace", workspace)

    async def start(script, knows_aside, answers, mode="ask", program="ASIDE"):
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
        model = f"rehearsal/{GIVEN / 'scripts' / script}"
        if not knows_aside:
            # The word of such a client counts as the workspace's, so the user names the model and trusts the workspace.
            settings = tmp_path / ".config" / "aside"
            settings.mkdir(parents=True, exist_ok=True)
            (settings / "aside.toml").write_text(f"assistant.model = {model!r}\nconversation.mode = {mode!r}\n")
            subprocess.run([os.environ["ASIDE"], "trust", "--yes"], cwd=workspace, env=env, check=True, capture_output=True)
        server = ["sh", "-c", 'exec "$0" lsp --stdio 2>>"$1"', os.environ[program], str(complaints)]
        client = await ClientServerConfig(server, client_factory=new_client, server_env=env).start()
        editor = Editor(client, workspace, answers)
        editors.append(editor)
        aside = {"aside": {"version": 1, "prompt": True, "secret": True, "save": True, "tools": []}}
        params = types.InitializeParams(
            capabilities=types.ClientCapabilities(
                general=types.GeneralClientCapabilities(position_encodings=["utf-8", "utf-16"]),
                workspace=types.WorkspaceClientCapabilities(
                    apply_edit=True,
                    workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
                ),
                window=types.WindowClientCapabilities(
                    show_document=types.ShowDocumentClientCapabilities(support=True),
                    work_done_progress=True,
                ),
                experimental=aside if knows_aside else None,
            ),
            root_uri=workspace.as_uri(),
            workspace_folders=[types.WorkspaceFolder(workspace.as_uri(), "workspace")],
            initialization_options={
                "trusted": True,
                "config": {
                    "assistant": {"model": model},
                    "conversation": {"mode": mode},
                },
            },
        )
        result = await asyncio.wait_for(client.initialize_session(params), LONG)
        assert result.capabilities.position_encoding == "utf-8"
        assert result.capabilities.experimental["aside"]["version"] == 1
        return editor

    yield start
    for editor in editors:
        assert await editor.close() == 0
    assert not complaints.exists() or complaints.read_text() == ""


@pytest.fixture(params=["ask", "edits"])
def mode(request):
    return request.param
