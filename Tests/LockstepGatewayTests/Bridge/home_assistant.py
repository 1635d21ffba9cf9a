"""Runs Home Assistant with its MQTT integration, and prints the answers of its REST API.

usage: home_assistant.py FOLDER BROKER-PORT HTTP-PORT

FOLDER keeps its settings, so that a second run is a restart. Each line of the output is the answer of /api/states, as
one JSON object: entity id -> {"state": …, "attributes": …}. A line is printed whenever it differs from the previous one.
It runs until it receives SIGTERM.
"""

import asyncio
import json
import os
import signal
import sys

import aiohttp
from homeassistant import auth, bootstrap, config_entries, core, loader
from homeassistant.setup import async_setup_component


async def run(folder, broker_port, http_port):
    storage = os.path.join(folder, ".storage")
    os.makedirs(storage, exist_ok=True)
    with open(os.path.join(folder, "configuration.yaml"), "w", encoding="utf-8"):
        pass
    entries = os.path.join(storage, "core.config_entries")
    if not os.path.exists(entries):
        data = {"broker": "127.0.0.1", "port": broker_port}
        with open(entries, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "key": "core.config_entries", "data": {"entries": [entry(data)]}}, file)
    hass = core.HomeAssistant(folder)
    hass.config.skip_pip = True
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    await bootstrap.async_load_base_functionality(hass)
    hass.auth = await auth.auth_manager_from_config(hass, [{"type": "homeassistant"}], [])
    http = {"http": {"server_host": "127.0.0.1", "server_port": http_port}}
    for component in ["homeassistant", "http", "api", "mqtt"]:
        if not await async_setup_component(hass, component, http):
            sys.exit(f"the component {component} cannot be set up")
    await hass.async_start()
    user = await hass.auth.async_create_system_user("test", group_ids=["system-admin"])
    token = hass.auth.async_create_access_token(await hass.auth.async_create_refresh_token(user))
    stopped = asyncio.Event()
    hass.loop.add_signal_handler(signal.SIGTERM, stopped.set)
    await report(http_port, token, stopped)
    await hass.async_stop(force=True)


def entry(data):
    return {
        "created_at": "2026-01-01T00:00:00+00:00", "modified_at": "2026-01-01T00:00:00+00:00", "data": data,
        "disabled_by": None, "discovery_keys": {}, "domain": "mqtt", "entry_id": "0123456789abcdef0123456789abcdef",
        "minor_version": 2, "options": {}, "pref_disable_new_entities": False, "pref_disable_polling": False,
        "source": "user", "subentries": [], "title": "broker", "unique_id": None, "version": 1,
    }


async def report(port, token, stopped):
    last = None
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        while not stopped.is_set():
            async with session.get(f"http://127.0.0.1:{port}/api/states") as response:
                response.raise_for_status()
                states = {
                    item["entity_id"]: {"state": item["state"], "attributes": item["attributes"]}
                    for item in await response.json()
                }
            if states != last:
                print(json.dumps(states), flush=True)
                last = states
            try:
                await asyncio.wait_for(stopped.wait(), 0.2)
            except TimeoutError:
                pass


asyncio.run(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
