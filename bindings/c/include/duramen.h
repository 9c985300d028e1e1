/* duramen.h - the durable log store, from C.
 *
 * A program logs straight into a directory, from every thread and every process it forks, with no server. A line
 * survives the death of the process (kill -9, a segfault, the OOM killer) as soon as duramen_log returns.
 *
 *     duramen_logger *log;
 *     if (duramen_open("logs", NULL, &log) != DURAMEN_OK) { fputs(duramen_last_error(), stderr); exit(1); }
 *     duramen_field fields[] = { duramen_string("bank", "n26"), duramen_int("order", 4711) };
 *     duramen_log(log, DURAMEN_ERROR, "payment refused", DURAMEN_NUL, fields, 2);
 *     duramen_close(log);
 *
 * Any thread may call any function at any time, with one exception: nobody may use a logger while or after it is
 * closed. No function keeps a pointer that it was given, and none ends the process or throws. A thread that calls one
 * needs 256 KiB of stack, and one that only logs 64 KiB.
 *
 * Texts are UTF-8. What is not is kept with U+FFFD in place of the bytes that are not, and the line gets the field
 * invalid_utf8 = true. A NULL text is an empty one; a NULL name is the name "".
 */
#ifndef DURAMEN_H
#define DURAMEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns. Of all but DURAMEN_OK, duramen_last_error tells more. */
#define DURAMEN_OK 0
#define DURAMEN_INVALID 1    /* an argument is none: nothing was done */
#define DURAMEN_FAILED 2     /* the store or the operating system refused; a line so refused is not in the log, unless its own write
                              * or sync failed: then nobody knows */
#define DURAMEN_INCOMPLETE 3 /* duramen_query: the rows are right, but a part of the store could not be read */
#define DURAMEN_INTERNAL 4   /* a fault in this library */

/* The levels, the least first. */
#define DURAMEN_UNKNOWN 0
#define DURAMEN_TRACE 1
#define DURAMEN_DEBUG 2
#define DURAMEN_INFO 3
#define DURAMEN_WARN 4
#define DURAMEN_ERROR 5
#define DURAMEN_FATAL 6

/* The length of a text that ends with a zero byte. */
#define DURAMEN_NUL ((size_t)-1)

/* The types of a field. */
#define DURAMEN_TYPE_STRING 0
#define DURAMEN_TYPE_INT 1
#define DURAMEN_TYPE_FLOAT 2
#define DURAMEN_TYPE_BOOL 3
#define DURAMEN_TYPE_NULL 4
#define DURAMEN_TYPE_JSON 5 /* a JSON array, or an empty object, as text; other text is kept as a string */

/* A field of a line. The functions below make one. */
typedef struct duramen_field {
    const char *name; /* ends with a zero byte */
    int32_t type;
    union {
        struct {
            const char *data;
            size_t len; /* bytes, or DURAMEN_NUL; DURAMEN_INVALID if it is any other negative number */
        } text;
        int64_t integer;
        double number;
        int32_t boolean; /* 0 is false, all else true */
    } value;
} duramen_field;

/* What a logger is to be like. All zero is the default; set size to sizeof(duramen_options). Later versions of the library
 * may know more options, and take programs that were compiled without these. */
typedef struct duramen_options {
    size_t size;
    /* What a line survives when the call returns: "none", "process" (default: the death of the process),
     * "interval:MS" (a loss of power that many milliseconds later, too), "sync" (a loss of power). */
    const char *durability;
    /* The names of the fields that tell one stream of lines from another, with commas between. Default "app,host". */
    const char *stream_fields;
    /* Fields that each line gets. */
    const duramen_field *fields;
    size_t nfields;
    /* The levels whose lines survive a loss of power when the call returns: the sum of 1 << level. 0 is the default,
     * error and fatal; DURAMEN_SYNC_NONE is none. */
    uint32_t sync_levels;
    /* DURAMEN_PID and DURAMEN_NO_KEEPER, added. */
    uint32_t flags;
    /* How long a call waits for room before it refuses its line. 0 is the default, 10000; negative is not at all. */
    int64_t block_timeout_ms;
    /* The longest message in bytes; what is longer is cut. 0 is the default, 1 MiB. */
    size_t max_message_bytes;
    /* Bytes of a write buffer, 64 KiB to 2 GiB. 0 is the default, 64 MiB. */
    size_t write_buffer_size;
} duramen_options;

#define DURAMEN_SYNC_NONE UINT32_C(0x80000000)
#define DURAMEN_PID UINT32_C(1)       /* each line has the field pid, the process that logged it */
#define DURAMEN_NO_KEEPER UINT32_C(2) /* leave it to other processes to put lines into tables */

typedef struct duramen_logger duramen_logger;

/* Opens the store in dir, making it if missing, and sets *logger. options may be NULL. */
int duramen_open(const char *dir, const duramen_options *options, duramen_logger **logger);

/* Logs a line, as of now. len is the message's length in bytes, or DURAMEN_NUL; fields may be NULL if nfields is 0.
 * It waits for the device only for a level of sync_levels, and for room no longer than block_timeout_ms. */
int duramen_log(duramen_logger *logger, int level, const char *message, size_t len, const duramen_field *fields,
                size_t nfields);

/* Puts every line into tables if this process is the keeper, and otherwise has the keeper do so soon. */
int duramen_flush(duramen_logger *logger);

/* Makes every line that was logged before the call, in this process, survive a loss of power. */
int duramen_sync(duramen_logger *logger);

/* Syncs what was logged, and frees the logger, whatever it returns. NULL is nothing to do. */
int duramen_close(duramen_logger *logger);

/* Takes a row of an answer: a JSON object of len bytes, which end with a zero byte besides, valid during the call.
 * Returns 0 to go on, anything else to end the query. It may log, and ask other queries; it may not throw. */
typedef int (*duramen_row)(void *ctx, const char *json, size_t len);

/* Asks the store in dir in LogsQL, and calls row with every row of the answer while they are found, the newest first,
 * on the thread that asked. Dates without a zone are of UTC. DURAMEN_INVALID if the text is no query: duramen_last_error shows the place. */
int duramen_query(const char *dir, const char *query, duramen_row row, void *ctx);

/* Why the last call of this thread did not return DURAMEN_OK; "" if it did. Valid until the thread's next call. */
const char *duramen_last_error(void);

/* The version of the library, such as "0.1.0". */
const char *duramen_version(void);

#ifdef __cplusplus
}
#endif

/* Fields. */
static inline duramen_field duramen_text(const char *name, const char *data, size_t len) {
    duramen_field field;
    field.name = name;
    field.type = DURAMEN_TYPE_STRING;
    field.value.text.data = data;
    field.value.text.len = len;
    return field;
}
static inline duramen_field duramen_string(const char *name, const char *text) {
    return duramen_text(name, text, DURAMEN_NUL);
}
static inline duramen_field duramen_json(const char *name, const char *json) {
    duramen_field field = duramen_text(name, json, DURAMEN_NUL);
    field.type = DURAMEN_TYPE_JSON;
    return field;
}
static inline duramen_field duramen_int(const char *name, int64_t integer) {
    duramen_field field;
    field.name = name;
    field.type = DURAMEN_TYPE_INT;
    field.value.integer = integer;
    return field;
}
static inline duramen_field duramen_float(const char *name, double number) {
    duramen_field field;
    field.name = name;
    field.type = DURAMEN_TYPE_FLOAT;
    field.value.number = number;
    return field;
}
static inline duramen_field duramen_bool(const char *name, int boolean) {
    duramen_field field;
    field.name = name;
    field.type = DURAMEN_TYPE_BOOL;
    field.value.boolean = boolean != 0;
    return field;
}
static inline duramen_field duramen_null(const char *name) {
    duramen_field field;
    field.name = name;
    field.type = DURAMEN_TYPE_NULL;
    field.value.integer = 0;
    return field;
}

#endif
