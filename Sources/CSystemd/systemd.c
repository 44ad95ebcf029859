// The functions of libsystemd in use. A function that is not listed here does not link.
#include "CSystemd.h"
#include "delay_load.h"

static struct lh_library libsystemd = {.name = "libsystemd.so.0"};

int lh_systemd_load(void)
{
    return lh_library_load(&libsystemd) ? 1 : 0;
}

LH_DELAYED(
    libsystemd, int, sd_bus_add_match_async,
    (sd_bus *bus, sd_bus_slot **slot, const char *match, sd_bus_message_handler_t callback,
     sd_bus_message_handler_t install_callback, void *userdata),
    (bus, slot, match, callback, install_callback, userdata))
LH_DELAYED(
    libsystemd, int, sd_bus_call_async,
    (sd_bus *bus, sd_bus_slot **slot, sd_bus_message *m, sd_bus_message_handler_t callback,
     void *userdata, uint64_t usec),
    (bus, slot, m, callback, userdata, usec))
LH_DELAYED(libsystemd, sd_bus *, sd_bus_close_unref, (sd_bus *bus), (bus))
LH_DELAYED(libsystemd, int, sd_bus_get_events, (sd_bus *bus), (bus))
LH_DELAYED(libsystemd, int, sd_bus_get_fd, (sd_bus *bus), (bus))
LH_DELAYED(
    libsystemd, int, sd_bus_get_timeout,
    (sd_bus *bus, uint64_t *timeout_usec),
    (bus, timeout_usec))
LH_DELAYED(libsystemd, int, sd_bus_is_open, (sd_bus *bus), (bus))
LH_DELAYED(
    libsystemd, int, sd_bus_message_append_basic,
    (sd_bus_message *m, char type, const void *p),
    (m, type, p))
LH_DELAYED(libsystemd, int, sd_bus_message_close_container, (sd_bus_message *m), (m))
LH_DELAYED(
    libsystemd, int, sd_bus_message_enter_container,
    (sd_bus_message *m, char type, const char *contents),
    (m, type, contents))
LH_DELAYED(libsystemd, int, sd_bus_message_exit_container, (sd_bus_message *m), (m))
LH_DELAYED(libsystemd, const sd_bus_error *, sd_bus_message_get_error, (sd_bus_message *m), (m))
LH_DELAYED(
    libsystemd, int, sd_bus_message_new_method_call,
    (sd_bus *bus, sd_bus_message **m, const char *destination, const char *path,
     const char *interface, const char *member),
    (bus, m, destination, path, interface, member))
LH_DELAYED(
    libsystemd, int, sd_bus_message_open_container,
    (sd_bus_message *m, char type, const char *contents),
    (m, type, contents))
LH_DELAYED(
    libsystemd, int, sd_bus_message_peek_type,
    (sd_bus_message *m, char *type, const char **contents),
    (m, type, contents))
LH_DELAYED(
    libsystemd, int, sd_bus_message_read_basic,
    (sd_bus_message *m, char type, void *p),
    (m, type, p))
LH_DELAYED(libsystemd, int, sd_bus_message_set_auto_start, (sd_bus_message *m, int b), (m, b))
LH_DELAYED(libsystemd, int, sd_bus_message_skip, (sd_bus_message *m, const char *types), (m, types))
LH_DELAYED(libsystemd, sd_bus_message *, sd_bus_message_unref, (sd_bus_message *m), (m))
LH_DELAYED(libsystemd, int, sd_bus_new, (sd_bus **ret), (ret))
LH_DELAYED(libsystemd, int, sd_bus_process, (sd_bus *bus, sd_bus_message **r), (bus, r))
LH_DELAYED(libsystemd, int, sd_bus_set_address, (sd_bus *bus, const char *address), (bus, address))
LH_DELAYED(libsystemd, int, sd_bus_set_bus_client, (sd_bus *bus, int b), (bus, b))
LH_DELAYED(
    libsystemd, int, sd_bus_slot_set_destroy_callback,
    (sd_bus_slot *s, sd_bus_destroy_t callback),
    (s, callback))
LH_DELAYED(libsystemd, int, sd_bus_slot_set_floating, (sd_bus_slot *slot, int b), (slot, b))
LH_DELAYED(libsystemd, sd_bus_slot *, sd_bus_slot_unref, (sd_bus_slot *slot), (slot))
LH_DELAYED(libsystemd, int, sd_bus_start, (sd_bus *bus), (bus))
LH_DELAYED(
    libsystemd, int, sd_notify,
    (int unset_environment, const char *state),
    (unset_environment, state))
LH_DELAYED(
    libsystemd, int, sd_watchdog_enabled,
    (int unset_environment, uint64_t *usec),
    (unset_environment, usec))
