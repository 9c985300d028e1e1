/* A shop that logs into a store, from two threads and a forked child, and asks it afterwards.
 *
 *     cc -o shop shop.c -I../include -L../../../target/release -lduramen_c -lpthread && ./shop logs
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "duramen.h"

static void must(int status, const char *what) {
    if (status != DURAMEN_OK) {
        fprintf(stderr, "%s: %s\n", what, duramen_last_error());
        exit(1);
    }
}

static void *serve(void *log) {
    for (int order = 0; order < 1000; order++) {
        duramen_field fields[] = {
            duramen_int("order", order),
            duramen_string("bank", order % 2 ? "n26" : "dkb"),
            duramen_float("amount", order * 0.5),
        };
        must(duramen_log(log, DURAMEN_INFO, "order received", DURAMEN_NUL, fields, 3), "log");
    }
    return NULL;
}

static int print_row(void *ctx, const char *json, size_t len) {
    (void)len;
    ++*(int *)ctx;
    puts(json);
    return 0;
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : "logs";
    duramen_field every_line[] = {duramen_string("app", "shop")};
    duramen_options options = {.size = sizeof options, .fields = every_line, .nfields = 1, .flags = DURAMEN_PID};
    duramen_logger *log;
    must(duramen_open(dir, &options, &log), "open");

    pid_t child = fork();
    if (child == 0) {
        duramen_log(log, DURAMEN_WARN, "last words of a child", DURAMEN_NUL, NULL, 0);
        _exit(0); /* without a word to the logger: the line is safe all the same */
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, serve, log);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    waitpid(child, NULL, 0);
    must(duramen_log(log, DURAMEN_ERROR, "payment refused", DURAMEN_NUL, NULL, 0), "log");

    int rows = 0;
    must(duramen_query(dir, "level:error OR \"last words\" | fields level, _msg, app | sort by (level)", print_row, &rows),
         "query");
    must(duramen_query(dir, "received | stats by (bank) count() orders | sort by (bank)", print_row, &rows), "query");
    must(duramen_close(log), "close");
    return rows == 4 ? 0 : 1;
}
