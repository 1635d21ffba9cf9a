#include <mosquitto.h>
// libmosquitto 2.1 has moved it, and warns if it is included from its former place.
#if __has_include(<mosquitto/mqtt_protocol.h>)
#include <mosquitto/mqtt_protocol.h>
#else
#include <mqtt_protocol.h>
#endif
