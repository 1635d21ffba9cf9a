/** The shared worker with the connection of all windows. */

import { Hub } from "./hub.js";

const hub = new Hub();

/** @type {any} */ (self).onconnect = ({ ports }) => hub.connect(ports[0]);
