#define _GNU_SOURCE
#include "budget_shim.h"
#include "yield_shim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

// MARK: rate

static const int64_t second = 1000000000;

// The capacity is 0.15 s worth of bytes. Over any two seconds at most 7.5 % more than the rate
// passes, and a thread that was not scheduled for a while still reaches the rate.
static int64_t bucket_capacity(const lh_bucket *bucket) {
    int64_t capacity = bucket->rate / 20 * 3;
    return capacity > 0 ? capacity : 1;
}

void lh_bucket_set(lh_bucket *bucket, int64_t rate, int64_t now) {
    bucket->rate = rate;
    bucket->tokens = 0;
    bucket->filled_at = now;
    bucket->remainder = 0;
}

void lh_bucket_fill(lh_bucket *bucket, int64_t now) {
    if (bucket->rate <= 0 || now <= bucket->filled_at)
        return;
    int64_t elapsed = now - bucket->filled_at;
    bucket->filled_at = now;
    int64_t capacity = bucket_capacity(bucket);
    double earned =
        (double)bucket->rate * ((double)elapsed / (double)second) + bucket->remainder;
    if (earned >= (double)(capacity - bucket->tokens)) {
        bucket->tokens = capacity;
        bucket->remainder = 0;
        return;
    }
    int64_t whole = (int64_t)earned;
    bucket->tokens += whole;
    bucket->remainder = earned - (double)whole;
}

// The fewest tokens that resume a paused request.
static int64_t quantum_of(const lh_bucket *bucket) {
    int64_t quantum = bucket->rate / 50;
    return quantum > 0 ? quantum : 1;
}

int64_t lh_bucket_wait(const lh_bucket *bucket) {
    int64_t missing = quantum_of(bucket) - bucket->tokens;
    if (bucket->rate <= 0 || missing <= 0)
        return 0;
    double wait = ((double)missing - bucket->remainder) / (double)bucket->rate * (double)second;
    return (int64_t)wait + 1;
}

size_t lh_bucket_allows(const lh_bucket *bucket, size_t wanted) {
    if (bucket->rate <= 0)
        return wanted;
    if (bucket->tokens <= 0)
        return 0;
    return (uint64_t)bucket->tokens < wanted ? (size_t)bucket->tokens : wanted;
}

void lh_bucket_take(lh_bucket *bucket, size_t taken) {
    if (bucket->rate > 0)
        bucket->tokens -= (int64_t)taken;
}

// MARK: budget

typedef struct lh_connection {
    int fd;
    uint64_t cookie;
    uint64_t site;
    const void *maker;  // of the connection that is being made; NULL = it is made
    size_t users;
    int port;  // its local one; 0 = not known yet
    int is_over;  // shut down, and not closed yet
} lh_connection;

struct lh_budget {
    pthread_mutex_t lock;
    lh_bucket total;
    lh_connection *connections;
    size_t count;
    size_t capacity;
    size_t per_site;
    size_t in_all;
};

lh_budget *lh_budget_new(void) {
    lh_budget *budget = calloc(1, sizeof *budget);
    if (!budget)
        return NULL;
    pthread_mutex_init(&budget->lock, NULL);
    budget->per_site = budget->in_all = SIZE_MAX;
    return budget;
}

void lh_budget_free(lh_budget *budget) {
    if (!budget)
        return;
    pthread_mutex_destroy(&budget->lock);
    free(budget->connections);
    free(budget);
}

void lh_budget_set_rate(lh_budget *budget, int64_t rate, int64_t now) {
    pthread_mutex_lock(&budget->lock);
    lh_bucket_set(&budget->total, 0, now);
    __atomic_store_n(&budget->total.rate, rate, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&budget->lock);
}

// Read without the lock for every piece of a body: as a rule there is no limit.
int64_t lh_budget_rate(const lh_budget *budget) {
    return __atomic_load_n(&budget->total.rate, __ATOMIC_RELAXED);
}

void lh_budget_fill(lh_budget *budget, int64_t now) {
    if (lh_budget_rate(budget) <= 0)
        return;
    pthread_mutex_lock(&budget->lock);
    lh_bucket_fill(&budget->total, now);
    pthread_mutex_unlock(&budget->lock);
}

int64_t lh_budget_wait(lh_budget *budget) {
    if (lh_budget_rate(budget) <= 0)
        return 0;
    pthread_mutex_lock(&budget->lock);
    int64_t wait = lh_bucket_wait(&budget->total);
    pthread_mutex_unlock(&budget->lock);
    return wait;
}

size_t lh_budget_take(lh_budget *budget, size_t wanted) {
    if (lh_budget_rate(budget) <= 0)
        return wanted;
    pthread_mutex_lock(&budget->lock);
    size_t taken = lh_bucket_allows(&budget->total, wanted);
    lh_bucket_take(&budget->total, taken);
    pthread_mutex_unlock(&budget->lock);
    return taken;
}

void lh_budget_return(lh_budget *budget, size_t unused) {
    if (unused == 0 || lh_budget_rate(budget) <= 0)
        return;
    pthread_mutex_lock(&budget->lock);
    budget->total.tokens += (int64_t)unused;
    pthread_mutex_unlock(&budget->lock);
}

void lh_budget_bound(lh_budget *budget, size_t per_site, size_t in_all) {
    pthread_mutex_lock(&budget->lock);
    budget->per_site = per_site;
    budget->in_all = in_all;
    pthread_mutex_unlock(&budget->lock);
}

uint64_t lh_socket_cookie(int fd) {
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

// Shuts idle connections down until one more has room. `site` 0 = of all sites.
static int make_room(lh_budget *budget, uint64_t site, size_t limit) {
    size_t open = 0;
    for (size_t i = 0; i < budget->count; i++)
        open += !budget->connections[i].is_over && (!site || budget->connections[i].site == site);
    for (size_t i = 0; i < budget->count && open >= limit; i++) {
        lh_connection *one = &budget->connections[i];
        if (one->is_over || one->maker || one->users > 0 || (site && one->site != site))
            continue;
        // libcurl finds it dead before it would use it again, and closes it.
        shutdown(one->fd, SHUT_RDWR);
        one->is_over = 1;
        open--;
    }
    return open < limit;
}

static void forget(lh_budget *budget, int fd) {
    for (size_t i = 0; i < budget->count; i++)
        if (budget->connections[i].fd == fd)
            budget->connections[i--] = budget->connections[--budget->count];
}

static int is_making(const lh_budget *budget, uint64_t site, const void *user) {
    for (size_t i = 0; i < budget->count; i++)
        if (budget->connections[i].maker == user && budget->connections[i].site == site)
            return 1;
    return 0;
}

static lh_connection *added(lh_budget *budget) {
    if (budget->count == budget->capacity) {
        size_t capacity = budget->capacity ? budget->capacity * 2 : 16;
        lh_connection *grown = realloc(budget->connections, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        budget->connections = grown;
        budget->capacity = capacity;
    }
    return &budget->connections[budget->count++];
}

static int open_locked(
    lh_budget *budget, uint64_t site, const void *user, int family, int type, int protocol) {
    if (!is_making(budget, site, user)
        && (!make_room(budget, site, budget->per_site) || !make_room(budget, 0, budget->in_all))) {
        errno = EBUSY;
        return -1;
    }
    int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    if (fd < 0)
        return -1;
    forget(budget, fd);
    // If memory runs out, the connection is not counted.
    lh_connection *one = added(budget);
    if (one)
        *one = (lh_connection){
            .fd = fd, .cookie = lh_socket_cookie(fd), .site = site, .maker = user};
    return fd;
}

int lh_budget_open(
    lh_budget *budget, uint64_t site, const void *user, int family, int type, int protocol) {
    pthread_mutex_lock(&budget->lock);
    int fd = open_locked(budget, site, user, family, type, protocol);
    int failure = errno;
    pthread_mutex_unlock(&budget->lock);
    errno = failure;
    return fd;
}

static void release(lh_budget *budget, uint64_t held) {
    for (size_t i = 0; i < budget->count; i++)
        if (held && budget->connections[i].cookie == held && budget->connections[i].users > 0)
            budget->connections[i].users--;
}

// `site` 0 = of all sites.
static lh_connection *found(lh_budget *budget, uint64_t site, uint16_t port) {
    for (size_t i = 0; i < budget->count; i++) {
        lh_connection *one = &budget->connections[i];
        if (site && one->site != site)
            continue;
        if (one->port <= 0)
            one->port = lh_local_port(one->fd);
        if (one->port == port)
            return one;
    }
    return NULL;
}

static int use_locked(lh_budget *budget, uint64_t site, uint16_t port, uint64_t *held) {
    // An earlier exchange of the same request, as for an authentication, may have held another.
    release(budget, *held);
    *held = 0;
    lh_connection *one = found(budget, site, port);
    // libcurl 8.22 takes a connection to a proxy for any server behind that.
    if (!one)
        one = found(budget, 0, port);
    if (!one)
        return 1;
    if (one->is_over || (one->site != site && !make_room(budget, site, budget->per_site)))
        return 0;
    one->site = site;
    one->users++;
    *held = one->cookie;
    return 1;
}

int lh_budget_use(lh_budget *budget, uint64_t site, uint16_t port, uint64_t *held) {
    pthread_mutex_lock(&budget->lock);
    int may_use = use_locked(budget, site, port, held);
    pthread_mutex_unlock(&budget->lock);
    return may_use;
}

void lh_budget_leave(lh_budget *budget, const void *user, uint64_t held) {
    pthread_mutex_lock(&budget->lock);
    release(budget, held);
    for (size_t i = 0; i < budget->count; i++)
        if (budget->connections[i].maker == user)
            budget->connections[i].maker = NULL;
    pthread_mutex_unlock(&budget->lock);
}

void lh_budget_forget(lh_budget *budget, int fd) {
    pthread_mutex_lock(&budget->lock);
    forget(budget, fd);
    pthread_mutex_unlock(&budget->lock);
}
