/*
 * Emulates a HID sensor hub through /dev/uhid, for deploy/test-kernel: the kernel's drivers (hid-sensor-accel-3d and
 * others) bind to it as to the hub of a laptop.
 *
 * The sensors report constant values, at the interval that the driver requests, while it has switched them on. As
 * firmware for Windows does, the accelerometer reports -1 g on the z axis at rest, face up.
 *
 * Commands on the standard input, one on a line: `plug` connects the hub, `plug NAME` connects it with only this sensor,
 * `plug clock` connects a hub whose reports have timestamps of its own clock, `unplug` disconnects the hub, and the end of
 * the input ends the program. Events are printed on the standard output, one on a line.
 *
 * Usages and selectors: HID Sensor Usages (HUTRR39, and the chapter "Sensors" of the HID Usage Tables).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <linux/uhid.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The first selectors of the two enumerations that the driver writes, and the values that switch a sensor on. Values
 * count from 1, as in the firmware of real hubs. */
enum { REPORTING_STATES = 0x0840, REPORTING_STATE_COUNT = 6, NO_EVENTS = 1, ALL_EVENTS = 2 };
enum { POWER_STATES = 0x0850, POWER_STATE_COUNT = 6, FULL_POWER = 2, POWER_OFF = 6 };

enum { MAX_VALUES = 4 };

struct sensor {
    /* The name in messages. */
    const char *name;
    uint16_t usage;
    /* The usages of the values; a quaternion is one field of four values. */
    uint16_t fields[3];
    int field_count;
    int values_per_field;
    /* The usage of the property "change sensitivity", and the power of ten of a count. */
    uint16_t sensitivity_usage;
    int exponent;
    int16_t values[MAX_VALUES];

    /* Whether the hub has the sensor. */
    int is_present;
    /* The state: values of the two enumerations, and the report interval in ms. */
    uint8_t reporting;
    uint8_t power;
    uint32_t interval;
    uint16_t sensitivity;
    /* The time of the next report, in ms of the monotonic clock. */
    int64_t due;
};

/* Units by default: g, degrees/s, milligauss, bar. */
static const struct sensor all[] = {
    {.name = "accelerometer", .usage = 0x0073, .fields = {0x0453, 0x0454, 0x0455}, .field_count = 3,
     .values_per_field = 1, .sensitivity_usage = 0x1452, .exponent = -3, .values = {100, -200, -950}},
    {.name = "gyroscope", .usage = 0x0076, .fields = {0x0457, 0x0458, 0x0459}, .field_count = 3,
     .values_per_field = 1, .sensitivity_usage = 0x1456, .exponent = -2, .values = {9000, -4500, 3000}},
    {.name = "magnetometer", .usage = 0x0083, .fields = {0x0485, 0x0486, 0x0487}, .field_count = 3,
     .values_per_field = 1, .sensitivity_usage = 0x1484, .exponent = -1, .values = {2000, -500, -4000}},
    {.name = "orientation", .usage = 0x008A, .fields = {0x0483}, .field_count = 1,
     .values_per_field = 4, .sensitivity_usage = 0x1483, .exponent = -4, .values = {0, 0, 7071, 7071}},
    {.name = "barometer", .usage = 0x0031, .fields = {0x0431}, .field_count = 1,
     .values_per_field = 1, .sensitivity_usage = 0x1431, .exponent = -4, .values = {10132}},
};
enum { SENSORS = sizeof all / sizeof all[0] };

/* The interval after the hub was connected, in ms. */
enum { DEFAULT_INTERVAL = 50 };

static struct sensor sensors[SENSORS];
static int hub = -1;
/* Whether reports have a timestamp, and the start of the hub's clock in µs of the monotonic clock. */
static int has_clock;
static int64_t clock_start;

static void fail(const char *what) {
    fprintf(stderr, "hid-sensor-hub: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static int64_t now(void) { return now_us() / 1000; }

static int is_on(const struct sensor *sensor) {
    return sensor->reporting == ALL_EVENTS && sensor->power == FULL_POWER;
}

/* --- The report descriptor --- */

static uint8_t descriptor[HID_MAX_DESCRIPTOR_SIZE];
static int length;

/* Appends a short item with 0 to 4 bytes of data. */
static void item(uint8_t prefix, uint32_t data, int size) {
    descriptor[length++] = prefix | (size == 4 ? 3 : size);
    for (int index = 0; index < size; index++) descriptor[length++] = data >> (8 * index) & 0xff;
}

static void usage(uint16_t id) { item(0x08, id, 2); }
static void collection(uint8_t type) { item(0xA0, type, 1); }
static void end_collection(void) { item(0xC0, 0, 0); }
static void input(uint8_t flags) { item(0x80, flags, 1); }
static void feature(uint8_t flags) { item(0xB0, flags, 1); }

enum { PHYSICAL = 0, APPLICATION = 1, LOGICAL = 2 };
enum { ARRAY = 0, VARIABLE = 2 };

/* Appends the range, size and number of the following values. */
static void format(int32_t least, int32_t greatest, int bits, int count) {
    item(0x14, least, 4);
    item(0x24, greatest, 4);
    item(0x74, bits, 1);
    item(0x94, count, 1);
}

/* Appends a field that holds one of `count` consecutive selectors. */
static void selectors(uint16_t property, uint16_t first, int count, int is_feature) {
    usage(property);
    format(1, count, 8, 1);
    collection(LOGICAL);
    for (int index = 0; index < count; index++) usage(first + index);
    if (is_feature) feature(ARRAY); else input(ARRAY);
    end_collection();
}

static void exponent(int power) { item(0x54, power & 0xf, 1); }

static void describe(const struct sensor *sensor, uint8_t id) {
    item(0x84, id, 1);
    usage(sensor->usage);
    collection(PHYSICAL);

    selectors(0x0316, REPORTING_STATES, REPORTING_STATE_COUNT, 1);
    selectors(0x0319, POWER_STATES, POWER_STATE_COUNT, 1);
    usage(0x030E); /* report interval, in ms by default */
    format(0, INT32_MAX, 32, 1);
    exponent(0);
    feature(VARIABLE);
    usage(sensor->sensitivity_usage);
    format(0, INT16_MAX, 16, 1);
    exponent(sensor->exponent);
    feature(VARIABLE);

    selectors(0x0201, 0x0800, 7, 0); /* sensor state */
    selectors(0x0202, 0x0810, 6, 0); /* sensor event */
    for (int index = 0; index < sensor->field_count; index++) {
        usage(sensor->fields[index]);
        format(INT16_MIN, INT16_MAX, 16, sensor->values_per_field);
        exponent(sensor->exponent);
        input(VARIABLE);
    }
    if (has_clock) {
        usage(0x0529); /* timestamp, in seconds by default, here in µs */
        format(INT32_MIN, INT32_MAX, 64, 1);
        exponent(-6);
        input(VARIABLE);
    }
    end_collection();
}

static void describe_all(void) {
    length = 0;
    item(0x04, 0x20, 1); /* usage page: sensors */
    usage(0x0001);
    collection(APPLICATION);
    for (int index = 0; index < SENSORS; index++)
        if (sensors[index].is_present) describe(&sensors[index], index + 1);
    end_collection();
}

/* --- Reports --- */

static void put(uint8_t *bytes, uint16_t *size, uint32_t value, int count) {
    for (int index = 0; index < count; index++) bytes[(*size)++] = value >> (8 * index) & 0xff;
}

static uint16_t feature_report(const struct sensor *sensor, uint8_t *bytes) {
    uint16_t size = 0;
    put(bytes, &size, sensor - sensors + 1, 1);
    put(bytes, &size, sensor->reporting, 1);
    put(bytes, &size, sensor->power, 1);
    put(bytes, &size, sensor->interval, 4);
    put(bytes, &size, sensor->sensitivity, 2);
    return size;
}

static uint16_t input_report(const struct sensor *sensor, uint8_t *bytes) {
    uint16_t size = 0;
    put(bytes, &size, sensor - sensors + 1, 1);
    put(bytes, &size, 3, 1); /* state: ready */
    put(bytes, &size, 4, 1); /* event: data updated */
    for (int index = 0; index < sensor->field_count * sensor->values_per_field; index++)
        put(bytes, &size, (uint16_t)sensor->values[index], 2);
    if (has_clock) {
        int64_t time = now_us() - clock_start;
        memcpy(bytes + size, &time, sizeof time);
        size += sizeof time;
    }
    return size;
}

/* Takes over the settings of a feature report. Returns whether the report is valid. */
static int apply(struct sensor *sensor, const uint8_t *bytes, int size) {
    int was_on = is_on(sensor);
    uint32_t interval;
    if (size < 9) return 0;
    memcpy(&interval, bytes + 3, sizeof interval);
    sensor->reporting = bytes[1];
    sensor->power = bytes[2];
    memcpy(&sensor->sensitivity, bytes + 7, sizeof sensor->sensitivity);
    if (interval > 0 && interval != sensor->interval) {
        sensor->interval = interval;
        printf("hub: %s interval %u ms\n", sensor->name, interval);
    }
    if (is_on(sensor) != was_on) {
        printf("hub: %s %s\n", sensor->name, is_on(sensor) ? "on" : "off");
        sensor->due = now() + sensor->interval;
    }
    return 1;
}

static struct sensor *sensor_of(uint8_t id) { return id >= 1 && id <= SENSORS ? &sensors[id - 1] : NULL; }

/* Sends an event to the kernel. A hub that has just been disconnected by the kernel is no error. */
static void send_event(const struct uhid_event *event) {
    if (write(hub, event, sizeof *event) < 0 && errno != EINVAL) fail("cannot write to /dev/uhid");
}

/* --- The connection --- */

/* Connects the hub with the sensor `name`, or with all sensors if it is empty. */
static void plug(const char *name, int with_clock) {
    struct uhid_event event = {.type = UHID_CREATE2};
    has_clock = with_clock;
    memcpy(sensors, all, sizeof sensors);
    for (int index = 0; index < SENSORS; index++) {
        sensors[index].is_present = !*name || !strcmp(name, sensors[index].name);
        sensors[index].reporting = NO_EVENTS;
        sensors[index].power = POWER_OFF;
        sensors[index].interval = DEFAULT_INTERVAL;
    }
    clock_start = now_us();
    describe_all();
    snprintf((char *)event.u.create2.name, sizeof event.u.create2.name, "Emulated sensor hub");
    memcpy(event.u.create2.rd_data, descriptor, length);
    event.u.create2.rd_size = length;
    event.u.create2.bus = BUS_VIRTUAL;
    event.u.create2.vendor = 0x1209;
    event.u.create2.product = 1;
    send_event(&event);
    printf("hub: connected\n");
}

static void unplug(void) {
    struct uhid_event event = {.type = UHID_DESTROY};
    for (int index = 0; index < SENSORS; index++) sensors[index].power = POWER_OFF;
    send_event(&event);
    printf("hub: disconnected\n");
}

/* Answers a request of the kernel. */
static void handle(const struct uhid_event *event) {
    struct uhid_event reply = {0};
    struct sensor *sensor;
    switch (event->type) {
    case UHID_GET_REPORT:
        sensor = sensor_of(event->u.get_report.rnum);
        reply.type = UHID_GET_REPORT_REPLY;
        reply.u.get_report_reply.id = event->u.get_report.id;
        if (!sensor)
            reply.u.get_report_reply.err = EIO;
        else if (event->u.get_report.rtype == UHID_FEATURE_REPORT)
            reply.u.get_report_reply.size = feature_report(sensor, reply.u.get_report_reply.data);
        else
            reply.u.get_report_reply.size = input_report(sensor, reply.u.get_report_reply.data);
        send_event(&reply);
        break;
    case UHID_SET_REPORT:
        sensor = sensor_of(event->u.set_report.rnum);
        reply.type = UHID_SET_REPORT_REPLY;
        reply.u.set_report_reply.id = event->u.set_report.id;
        if (!sensor || !apply(sensor, event->u.set_report.data, event->u.set_report.size))
            reply.u.set_report_reply.err = EIO;
        send_event(&reply);
        break;
    default:
        break;
    }
}

/* Sends the reports that are due, and returns the time until the next one in ms; -1 if no sensor is on. */
static int send_reports(void) {
    int64_t time = now(), next = -1;
    for (int index = 0; index < SENSORS; index++) {
        struct sensor *sensor = &sensors[index];
        if (!is_on(sensor)) continue;
        if (time >= sensor->due) {
            struct uhid_event event = {.type = UHID_INPUT2};
            event.u.input2.size = input_report(sensor, event.u.input2.data);
            send_event(&event);
            /* After a pause, the missed reports are not made up for. */
            sensor->due = sensor->due + sensor->interval > time ? sensor->due + sensor->interval : time + sensor->interval;
        }
        if (next < 0 || sensor->due < next) next = sensor->due;
    }
    return next < 0 ? -1 : next > time ? (int)(next - time) : 0;
}

static void take_commands(void) {
    static char text[256];
    static size_t used;
    ssize_t count = read(STDIN_FILENO, text + used, sizeof text - 1 - used);
    if (count <= 0) exit(0);
    used += count;
    text[used] = 0;
    for (char *end; (end = strchr(text, '\n')); memmove(text, end + 1, used + 1)) {
        *end = 0;
        used -= end + 1 - text;
        if (!strcmp(text, "plug")) plug("", 0);
        else if (!strcmp(text, "plug clock")) plug("", 1);
        else if (!strncmp(text, "plug ", 5)) plug(text + 5, 0);
        else if (!strcmp(text, "unplug")) unplug();
        else fprintf(stderr, "hid-sensor-hub: unknown command '%s'\n", text);
    }
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    hub = open("/dev/uhid", O_RDWR | O_CLOEXEC);
    if (hub < 0) fail("cannot open /dev/uhid");
    for (;;) {
        struct pollfd files[] = {{.fd = hub, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        if (poll(files, 2, send_reports()) < 0 && errno != EINTR) fail("poll");
        if (files[0].revents & POLLIN) {
            struct uhid_event event;
            if (read(hub, &event, sizeof event) < 0) fail("cannot read from /dev/uhid");
            handle(&event);
        }
        if (files[1].revents) take_commands();
    }
}
