// libsystemd, loaded when the first of these functions is called: see delay_load.h.
//
// The declarations in use, after sd-bus(3), sd_notify(3) and sd_watchdog_enabled(3), so that the build
// needs no header of libsystemd. Its functions keep their parameters as long as its soname is
// libsystemd.so.0.
#ifndef LH_CSYSTEMD_H
#define LH_CSYSTEMD_H

#include <stdint.h>

// Loads libsystemd; 0 = it cannot be loaded.
int lh_systemd_load(void);

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct sd_bus_slot sd_bus_slot;

typedef struct {
    const char *name;
    const char *message;
    int _need_free;
} sd_bus_error;

typedef int (*sd_bus_message_handler_t)(
    sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
typedef void (*sd_bus_destroy_t)(void *userdata);

// The name of the function that systemd.c defines.
#define LH_DELAYED_NAME(name) __asm__("longhaul_" #name)

int sd_bus_add_match_async(
    sd_bus *bus, sd_bus_slot **slot, const char *match, sd_bus_message_handler_t callback,
    sd_bus_message_handler_t install_callback,
    void *userdata) LH_DELAYED_NAME(sd_bus_add_match_async);
int sd_bus_call_async(
    sd_bus *bus, sd_bus_slot **slot, sd_bus_message *m, sd_bus_message_handler_t callback,
    void *userdata, uint64_t usec) LH_DELAYED_NAME(sd_bus_call_async);
sd_bus *sd_bus_close_unref(sd_bus *bus) LH_DELAYED_NAME(sd_bus_close_unref);
int sd_bus_get_events(sd_bus *bus) LH_DELAYED_NAME(sd_bus_get_events);
int sd_bus_get_fd(sd_bus *bus) LH_DELAYED_NAME(sd_bus_get_fd);
int sd_bus_get_timeout(sd_bus *bus, uint64_t *timeout_usec) LH_DELAYED_NAME(sd_bus_get_timeout);
int sd_bus_is_open(sd_bus *bus) LH_DELAYED_NAME(sd_bus_is_open);
int sd_bus_message_append_basic(
    sd_bus_message *m, char type, const void *p) LH_DELAYED_NAME(sd_bus_message_append_basic);
int sd_bus_message_close_container(
    sd_bus_message *m) LH_DELAYED_NAME(sd_bus_message_close_container);
int sd_bus_message_enter_container(
    sd_bus_message *m, char type,
    const char *contents) LH_DELAYED_NAME(sd_bus_message_enter_container);
int sd_bus_message_exit_container(sd_bus_message *m) LH_DELAYED_NAME(sd_bus_message_exit_container);
const sd_bus_error *sd_bus_message_get_error(
    sd_bus_message *m) LH_DELAYED_NAME(sd_bus_message_get_error);
int sd_bus_message_new_method_call(
    sd_bus *bus, sd_bus_message **m, const char *destination, const char *path,
    const char *interface, const char *member) LH_DELAYED_NAME(sd_bus_message_new_method_call);
int sd_bus_message_open_container(
    sd_bus_message *m, char type,
    const char *contents) LH_DELAYED_NAME(sd_bus_message_open_container);
int sd_bus_message_peek_type(
    sd_bus_message *m, char *type, const char **contents) LH_DELAYED_NAME(sd_bus_message_peek_type);
int sd_bus_message_read_basic(
    sd_bus_message *m, char type, void *p) LH_DELAYED_NAME(sd_bus_message_read_basic);
int sd_bus_message_set_auto_start(
    sd_bus_message *m, int b) LH_DELAYED_NAME(sd_bus_message_set_auto_start);
int sd_bus_message_skip(sd_bus_message *m, const char *types) LH_DELAYED_NAME(sd_bus_message_skip);
sd_bus_message *sd_bus_message_unref(sd_bus_message *m) LH_DELAYED_NAME(sd_bus_message_unref);
int sd_bus_new(sd_bus **ret) LH_DELAYED_NAME(sd_bus_new);
int sd_bus_process(sd_bus *bus, sd_bus_message **r) LH_DELAYED_NAME(sd_bus_process);
int sd_bus_set_address(sd_bus *bus, const char *address) LH_DELAYED_NAME(sd_bus_set_address);
int sd_bus_set_bus_client(sd_bus *bus, int b) LH_DELAYED_NAME(sd_bus_set_bus_client);
int sd_bus_slot_set_destroy_callback(
    sd_bus_slot *s, sd_bus_destroy_t callback) LH_DELAYED_NAME(sd_bus_slot_set_destroy_callback);
int sd_bus_slot_set_floating(sd_bus_slot *slot, int b) LH_DELAYED_NAME(sd_bus_slot_set_floating);
sd_bus_slot *sd_bus_slot_unref(sd_bus_slot *slot) LH_DELAYED_NAME(sd_bus_slot_unref);
int sd_bus_start(sd_bus *bus) LH_DELAYED_NAME(sd_bus_start);
int sd_notify(int unset_environment, const char *state) LH_DELAYED_NAME(sd_notify);
int sd_watchdog_enabled(int unset_environment, uint64_t *usec) LH_DELAYED_NAME(sd_watchdog_enabled);

#undef LH_DELAYED_NAME

#endif
