"""The live driver: asyncio on aiohttp."""
