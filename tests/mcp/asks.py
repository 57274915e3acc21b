"""A server on the Python SDK that asks before it deploys: over pipes, or with a port as its argument over HTTP."""

import sys
from typing import Annotated, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

mcp = MCPServer("asks", instructions="Ask before you deploy.")


class Where(BaseModel):
    target: Literal["staging", "production"]
    sure: bool = False


async def ask_where() -> Elicit[Where]:
    return Elicit("Deploy to which place?", Where)


@mcp.tool()
async def deploy(what: str, where: Annotated[Where, Resolve(ask_where)]) -> str:
    """Asks while it runs in the protocol of 2025-11-25, and in place of a result in that of 2026-07-28."""
    return f"{what} -> {where.target} {where.sure}"


@mcp.tool()
async def deploy_live(what: str, ctx: Context) -> str:
    """Can ask in the protocol of 2025-11-25 alone."""
    answer = await ctx.elicit("Deploy to which place?", Where)
    return f"{what}: {answer.action} {answer.data.target}"


@mcp.tool()
async def say(message: str) -> str:
    """Says it."""
    return message


if len(sys.argv) > 1:
    mcp.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    mcp.run()
