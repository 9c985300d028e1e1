/* What a program may get wrong, and what it may ask. It ends with the number of the line that is not as it should be. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duramen.h"

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "border.c:%d: %s; last error: %s\n", __LINE__, #holds, duramen_last_error());              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct rows {
    int count;
    int limit;
    char last[4096];
};

static int keep(void *ctx, const char *json, size_t len) {
    struct rows *rows = ctx;
    CHECK(json[len] == 0 && strlen(json) == len);
    snprintf(rows->last, sizeof rows->last, "%s", json);
    return ++rows->count == rows->limit;
}

static int ask(const char *dir, const char *query, struct rows *rows) {
    int limit = rows->limit;
    memset(rows, 0, sizeof *rows);
    rows->limit = limit;
    return duramen_query(dir, query, keep, rows);
}

/* Deep queries, and all else that a thread does, with as little stack as the header asks for. */
static void *with_little_stack(void *dir) {
    static char deep[1024], too_deep[1024];
    struct rows rows = {0};
    memset(deep, '(', 99);
    strcpy(deep + 99, "typed");
    memset(deep + strlen(deep), ')', 99);
    memset(too_deep, '(', 200);
    CHECK(ask(dir, deep, &rows) == DURAMEN_OK && rows.count == 1);
    CHECK(ask(dir, too_deep, &rows) == DURAMEN_INVALID && strstr(duramen_last_error(), "deep"));
    CHECK(ask(dir, "* | stats by (level) count() n | sort by (n)", &rows) == DURAMEN_OK && rows.count > 1);
    return dir;
}

static void *log_with_less(void *log) {
    duramen_field fields[] = {duramen_string("s", "text"), duramen_int("i", 7)};
    CHECK(duramen_log(log, DURAMEN_ERROR, "from a small thread", DURAMEN_NUL, fields, 2) == DURAMEN_OK);
    return log;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    const char *dir = argv[1];
    struct rows rows = {0};
    duramen_logger *log = (duramen_logger *)1;

    CHECK(strchr(duramen_version(), '.'));
    CHECK(strcmp(duramen_last_error(), "") == 0);

    /* Opening. */
    CHECK(duramen_open(NULL, NULL, &log) == DURAMEN_INVALID && log == NULL);
    CHECK(strstr(duramen_last_error(), "dir"));
    CHECK(duramen_open(dir, NULL, NULL) == DURAMEN_INVALID);
    CHECK(duramen_open("/proc/no/such", NULL, &log) == DURAMEN_FAILED && log == NULL);
    CHECK(*duramen_last_error());
    duramen_options options = {0};
    CHECK(duramen_open(dir, &options, &log) == DURAMEN_INVALID && strstr(duramen_last_error(), "size"));
    options.size = sizeof options + 8;
    CHECK(duramen_open(dir, &options, &log) == DURAMEN_INVALID && strstr(duramen_last_error(), "size"));
    options.size = sizeof options;
    options.durability = "fsync";
    CHECK(duramen_open(dir, &options, &log) == DURAMEN_INVALID && strstr(duramen_last_error(), "fsync"));
    options.durability = "interval:50";
    options.flags = 1024;
    CHECK(duramen_open(dir, &options, &log) == DURAMEN_INVALID && strstr(duramen_last_error(), "flags"));
    options.flags = 0;
    options.sync_levels = DURAMEN_SYNC_NONE;
    options.stream_fields = "app, zone";
    options.max_message_bytes = 100;
    options.block_timeout_ms = -1;
    options.write_buffer_size = 5;
    CHECK(duramen_open(dir, &options, &log) == DURAMEN_INVALID && strstr(duramen_last_error(), "write_buffer_size"));
    options.write_buffer_size = 1 << 20;
    duramen_field every_line[] = {duramen_string("zone", "eu")};
    options.fields = every_line;
    options.nfields = 1;
    CHECK(ask(dir, "*", &rows) == DURAMEN_FAILED && strstr(duramen_last_error(), "no store"));
    CHECK(duramen_open(dir, &options, &log) == DURAMEN_OK && log);
    CHECK(strcmp(duramen_last_error(), "") == 0);

    /* Every type of field. */
    duramen_field fields[] = {
        duramen_string("s", "t\xc3\xa9xt"), duramen_int("i", INT64_MIN),    duramen_float("f", 0.25),
        duramen_bool("b", 7),               duramen_null("z"),              duramen_json("j", "[1,\"x\"]"),
        duramen_json("no", "x]"),           duramen_text("cut", "abcd", 2), duramen_string("null", NULL),
    };
    CHECK(duramen_log(log, DURAMEN_INFO, "typed!and more", 5, fields, 9) == DURAMEN_OK);
    CHECK(ask(dir, "typed", &rows) == DURAMEN_OK && rows.count == 1);
    CHECK(strstr(rows.last, "\"_msg\":\"typed\""));
    CHECK(strstr(rows.last, "\"s\":\"t\xc3\xa9xt\""));
    CHECK(strstr(rows.last, "\"i\":-9223372036854775808"));
    CHECK(strstr(rows.last, "\"f\":0.25"));
    CHECK(strstr(rows.last, "\"b\":true"));
    CHECK(strstr(rows.last, "\"z\":null"));
    CHECK(strstr(rows.last, "\"j\":[1,\"x\"]"));
    CHECK(strstr(rows.last, "\"no\":\"x]\""));
    CHECK(strstr(rows.last, "\"cut\":\"ab\""));
    CHECK(strstr(rows.last, "\"null\":\"\""));
    CHECK(strstr(rows.last, "\"_stream\":\"{zone=\\\"eu\\\"}\""));
    CHECK(!strstr(rows.last, "invalid_utf8"));

    /* What only looks like JSON does not spoil the row. */
    duramen_field lookalike[] = {duramen_json("j", "[oops], \"level\": [\"fatal\"]")};
    CHECK(duramen_log(log, DURAMEN_INFO, "lookalike", DURAMEN_NUL, lookalike, 1) == DURAMEN_OK);
    CHECK(ask(dir, "lookalike", &rows) == DURAMEN_OK && rows.count == 1);
    CHECK(strstr(rows.last, "\"j\":\"[oops], \\\"level\\\": [\\\"fatal\\\"]\""));

    /* Bytes that are no UTF-8 are replaced, and the line says so. */
    duramen_field bad[] = {duramen_string("bad", "\xff"), duramen_string(NULL, "unnamed")};
    CHECK(duramen_log(log, DURAMEN_INFO, "b\xc3(d", DURAMEN_NUL, bad, 2) == DURAMEN_OK);
    CHECK(ask(dir, "invalid_utf8:true", &rows) == DURAMEN_OK && rows.count == 1);
    CHECK(strstr(rows.last, "b\xef\xbf\xbd(d") && strstr(rows.last, "\"bad\":\"\xef\xbf\xbd\""));

    /* Null, nothing, too much. */
    CHECK(duramen_log(NULL, DURAMEN_INFO, "m", DURAMEN_NUL, NULL, 0) == DURAMEN_INVALID);
    CHECK(duramen_log(log, 7, "m", DURAMEN_NUL, NULL, 0) == DURAMEN_INVALID);
    CHECK(duramen_log(log, -1, "m", DURAMEN_NUL, NULL, 0) == DURAMEN_INVALID);
    CHECK(duramen_log(log, DURAMEN_INFO, "m", DURAMEN_NUL, NULL, 1) == DURAMEN_INVALID);
    fields[0].type = 99;
    CHECK(duramen_log(log, DURAMEN_INFO, "m", DURAMEN_NUL, fields, 1) == DURAMEN_INVALID);
    CHECK(strstr(duramen_last_error(), "99"));
    /* The lengths of texts that a failed call gave. */
    CHECK(duramen_log(log, DURAMEN_INFO, "m", (size_t)-5, NULL, 0) == DURAMEN_INVALID);
    CHECK(strstr(duramen_last_error(), "negative"));
    duramen_field negative = duramen_text("n", "x", (size_t)-2);
    CHECK(duramen_log(log, DURAMEN_INFO, "m", 1, &negative, 1) == DURAMEN_INVALID);
    static char long_name[2001];
    memset(long_name, 'n', sizeof long_name - 1);
    bad[0].name = long_name;
    CHECK(duramen_log(log, DURAMEN_INFO, "m", DURAMEN_NUL, bad, 1) == DURAMEN_FAILED);
    CHECK(duramen_log(log, DURAMEN_UNKNOWN, NULL, 5, NULL, 0) == DURAMEN_OK);
    CHECK(duramen_log(log, DURAMEN_FATAL, long_name, 1000, NULL, 0) == DURAMEN_OK);
    CHECK(ask(dir, "truncated_from_bytes:1000", &rows) == DURAMEN_OK && rows.count == 1);

    /* Asking. */
    CHECK(duramen_sync(log) == DURAMEN_OK && duramen_flush(log) == DURAMEN_OK);
    CHECK(duramen_sync(NULL) == DURAMEN_INVALID && duramen_flush(NULL) == DURAMEN_INVALID);
    CHECK(ask(dir, "* | stats count() n", &rows) == DURAMEN_OK && rows.count == 1);
    rows.limit = 2;
    CHECK(ask(dir, "*", &rows) == DURAMEN_OK && rows.count == 2);
    CHECK(ask(dir, "level:error |", &rows) == DURAMEN_INVALID && strchr(duramen_last_error(), '^'));
    CHECK(ask(dir, NULL, &rows) == DURAMEN_INVALID && ask(dir, "\xff", &rows) == DURAMEN_INVALID);
    CHECK(duramen_query(dir, "*", NULL, NULL) == DURAMEN_INVALID);

    pthread_attr_t little;
    pthread_t thread;
    void *done = NULL;
    CHECK(pthread_attr_init(&little) == 0 && pthread_attr_setstacksize(&little, 256 << 10) == 0);
    CHECK(pthread_create(&thread, &little, with_little_stack, argv[1]) == 0);
    CHECK(pthread_join(thread, &done) == 0 && done == argv[1]);
    CHECK(pthread_attr_setstacksize(&little, 64 << 10) == 0);
    CHECK(pthread_create(&thread, &little, log_with_less, log) == 0);
    CHECK(pthread_join(thread, &done) == 0 && done == log);

    CHECK(duramen_close(log) == DURAMEN_OK && duramen_close(NULL) == DURAMEN_OK);
    rows.limit = 0;
    /* Six of ours, and one that says that a seventh was refused. */
    CHECK(ask(dir, "*", &rows) == DURAMEN_OK && rows.count == 7);
    CHECK(ask(dir, "dropped_lines:1", &rows) == DURAMEN_OK && rows.count == 1);
    return 0;
}
