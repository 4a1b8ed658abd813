/* The least that a step of Artemis can cost: a program for the default workload and arguments alone.

   One destination, a fluid, no windows, processor sharing of one link, tokens, path delays, the "full" observation. All
   that a general simulator has to ask is left out: which discipline, which transport, several links, priorities, logs,
   other actions, other observations. Flows are not drawn but read. A network takes 13 kB, and memory is asked for it ahead.
   It plays what flowsched_gym plays; see floor.py, which checks it. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TOKENS = 10, SLOTS = 5, CONTEXT = 4, COLUMNS = 7, ROWS = 128, TIMERS = 2 * TOKENS };
enum { PRESENT, SIZE, SPAN, WAITING, TIME_LEFT, SLACK, POSTPONED, MOMENT, SEEN };
enum { NOBODY = -1, DELIVERY = 0, START = 1 };
enum { FAR = 4, NEAR = 2 };

static const double SIZE_SCALE = 3e5, TIME_SCALE = 0.02;

typedef struct {
    double arrival, size, span;
} Drawn;

typedef struct {
    double attained, remaining, rate, volume, deadline, arrival, send_time;
    int64_t number;
} Flow;

typedef struct {
    double time;
    int32_t kind, row;
} Timer;

typedef struct {
    double now, settled_at, wake, request_time, in_flight;
    int32_t arrived, delivered, head, tail, live, timer_head, timer_tail, tokens, active, moment, counted, counted_at;
    int32_t decision_due, sharing_due, asking;
    Timer timers[TIMERS];
    uint32_t requests[ROWS];
    uint16_t active_rows[TOKENS], live_rows[TOKENS];
    Flow flows[ROWS];
    float seen[ROWS][SEEN];
} Network;

typedef struct {
    const Drawn *drawn;   /* (networks, flows) */
    double *completion;   /* (networks, flows), absolute times in s */
    double *grant;        /* likewise */
    int32_t *order;       /* likewise: numbers of flows in the order of their delivery */
    int64_t num_flows;
    double delay, capacity;
} Shared;

size_t size_of_network(void) { return sizeof(Network); }

static float squash(double value, double scale) { return (float)(value / (fabs(value) + scale)); }

static double request_time(const Shared *all, const Drawn *drawn, int number) {
    return number < all->num_flows ? drawn[number].arrival + all->delay : INFINITY;
}

static void set_timer(Network *net, double time, int kind, int row) {
    if (net->timer_tail == TIMERS) {
        int count = net->timer_tail - net->timer_head;
        memmove(net->timers, net->timers + net->timer_head, (size_t)count * sizeof(Timer));
        net->timer_head = 0;
        net->timer_tail = count;
    }
    int place = net->timer_tail++;
    for (; place > net->timer_head; place--) {
        const Timer *before = &net->timers[place - 1];
        if (before->time < time || (before->time == time && before->kind <= kind)) break;
        net->timers[place] = *before;
    }
    net->timers[place] = (Timer){time, kind, row};
}

static int take_timer(Network *net, int kind) {
    const Timer *timer = &net->timers[net->timer_head];
    if (net->timer_head == net->timer_tail || timer->time != net->now || timer->kind != kind) return NOBODY;
    if (++net->timer_head == net->timer_tail) net->timer_head = net->timer_tail = 0;
    return timer->row;
}

static void settle(const Shared *all, Network *net) {
    double elapsed = net->now - net->settled_at;
    if (elapsed == 0.0) return;
    net->settled_at = net->now;
    net->moment++;
    int kept = 0;
    for (int place = 0; place < net->live; place++) {
        int row = net->live_rows[place];
        Flow *flow = &net->flows[row];
        double sent = flow->attained + flow->rate * elapsed;
        if (flow->volume - sent <= flow->rate * (net->now * 1e-14) + flow->volume * 1e-13) {
            flow->attained = flow->volume;
            flow->remaining = flow->rate = 0.0;
            net->sharing_due = 1;
            set_timer(net, net->now + all->delay, DELIVERY, row);
        } else {
            flow->attained = sent;
            flow->remaining = flow->volume - sent;
            net->live_rows[kept++] = (uint16_t)row;
        }
    }
    net->live = kept;
}

static void share(const Shared *all, Network *net) {
    double rate = all->capacity / net->live, soonest = INFINITY;
    net->sharing_due = 0;
    net->wake = INFINITY;
    if (net->live == 0) return;
    for (int place = 0; place < net->live; place++) {
        Flow *flow = &net->flows[net->live_rows[place]];
        flow->rate = rate;
        soonest = fmin(soonest, flow->remaining / rate);
    }
    net->wake = fmax(net->now + soonest, net->now * (1.0 + 0x1p-52));
}

static void deliver(const Shared *all, Network *net, size_t first) {
    for (int row = take_timer(net, DELIVERY); row != NOBODY; row = take_timer(net, DELIVERY)) {
        int64_t number = net->flows[row].number;
        all->completion[first + (size_t)number] = net->now;
        all->order[first + (size_t)net->delivered++] = (int32_t)number;
        int place = 0;
        while (net->active_rows[place] != row) place++;
        for (net->active--; place < net->active; place++) net->active_rows[place] = net->active_rows[place + 1];
        net->tokens++;
        net->counted_at = NOBODY;
        net->decision_due = 1;
    }
}

static int arrive(const Shared *all, Network *net, const Drawn *drawn) {
    while (net->request_time == net->now) {
        int row = net->arrived % ROWS;
        const Drawn *given = &drawn[net->arrived];
        Flow *flow = &net->flows[row];
        *flow = (Flow){0.0, given->size, 0.0, given->size, given->arrival + given->span, given->arrival,
                       given->size / all->capacity, net->arrived};
        float *seen = net->seen[row];
        seen[PRESENT] = 1.0f;
        seen[SIZE] = squash(given->size, SIZE_SCALE);
        seen[SPAN] = squash(given->span, TIME_SCALE);
        seen[POSTPONED] = 0.0f;
        seen[MOMENT] = NOBODY;
        net->request_time = request_time(all, drawn, ++net->arrived);
        if (net->tail == ROWS) {
            net->tail -= net->head;
            memmove(net->requests, net->requests + net->head, (size_t)net->tail * sizeof(uint32_t));
            net->head = 0;
        }
        net->requests[net->tail++] = (uint32_t)row;
        net->decision_due = 1;
    }
    return net->arrived - net->delivered <= ROWS;
}

/* Runs to the next decision or the end; returns 0 if more flows are there than rows. */
static int run(const Shared *all, Network *net, size_t n) {
    size_t first = n * (size_t)all->num_flows;
    const Drawn *drawn = all->drawn + first;
    int fits = 1;
    while (net->asking == NOBODY && net->delivered < all->num_flows && fits) {
        enum { LAST_BYTE_SENT = 2, ARRIVAL = 3 };
        double time = net->wake;
        int kind = LAST_BYTE_SENT;
        if (net->timer_head < net->timer_tail && net->timers[net->timer_head].time < time) {
            time = net->timers[net->timer_head].time;
            kind = net->timers[net->timer_head].kind;
        }
        if (net->request_time < time || (net->request_time == time && kind == START)) {
            time = net->request_time;
            kind = ARRIVAL;
        }
        if (time > net->now) {
            if (net->decision_due) {
                net->decision_due = 0;
                net->asking = net->tokens > 0 && net->tail > net->head ? 0 : NOBODY;
                continue;
            }
            if (net->sharing_due) {
                settle(all, net);
                share(all, net);
                continue;
            }
            net->moment++;
        }
        net->now = time;
        if (kind == LAST_BYTE_SENT) {
            settle(all, net);
            net->wake = INFINITY;
            net->sharing_due = 1;
        } else if (kind == DELIVERY) {
            deliver(all, net, first);
        } else if (kind == ARRIVAL) {
            fits = arrive(all, net, drawn);
        } else {
            settle(all, net);
            for (int row = take_timer(net, START); row != NOBODY; row = take_timer(net, START))
                net->live_rows[net->live++] = (uint16_t)row;
            net->sharing_due = 1;
        }
    }
    return fits;
}

static int begin(const Shared *all, Network *net, size_t n) {
    memset(net, 0, offsetof(Network, timers));
    net->tokens = TOKENS;
    net->wake = INFINITY;
    net->asking = net->counted_at = NOBODY;
    net->request_time = request_time(all, all->drawn + n * (size_t)all->num_flows, 0);
    return run(all, net, n);
}

static void grant(const Shared *all, Network *net, size_t n, int slot) {
    uint32_t *requests = net->requests + net->head++;
    uint32_t row = requests[slot];
    for (; slot > 0; slot--) requests[slot] = requests[slot - 1];
    net->tokens--;
    net->active_rows[net->active++] = (uint16_t)row;
    all->grant[n * (size_t)all->num_flows + (size_t)net->flows[row].number] = net->now;
    set_timer(net, net->now + all->delay, START, (int)row);
    net->asking = NOBODY;
    net->decision_due = 1;
}

static void show(Network *net, float *observation, uint8_t *mask) {
    int waiting = net->tail - net->head;
    if (net->counted_at != net->moment) {
        net->counted_at = net->moment;
        net->counted = 0;
        net->in_flight = 0.0;
    }
    for (; net->counted < net->active; net->counted++) {
        const Flow *flow = &net->flows[net->active_rows[net->counted]];
        net->in_flight += flow->remaining - flow->rate * (net->now - net->settled_at);
    }
    *observation++ = (float)((double)(TOKENS - net->active) / TOKENS);
    *observation++ = (float)((double)net->active / TOKENS);
    *observation++ = squash(fmax(net->in_flight, 0.0), SIZE_SCALE);
    *observation++ = squash(waiting, SLOTS);
    for (int slot = 0; slot < SLOTS; slot++, observation += COLUMNS) {
        mask[slot] = slot < waiting;
        if (slot >= waiting) {
            memset(observation, 0, COLUMNS * sizeof(float));
            continue;
        }
        uint32_t row = net->requests[net->head + slot];
        float *seen = net->seen[row];
        if (seen[MOMENT] != (float)net->moment) {
            const Flow *flow = &net->flows[row];
            seen[WAITING] = squash(net->now - flow->arrival, TIME_SCALE);
            seen[TIME_LEFT] = squash(flow->deadline - net->now, TIME_SCALE);
            seen[SLACK] = squash(flow->deadline - net->now - flow->send_time, TIME_SCALE);
            seen[MOMENT] = (float)net->moment;
        }
        memcpy(observation, seen, COLUMNS * sizeof(float));
    }
}

static void look_ahead(const Shared *all, const Network *networks, size_t num, size_t n, const int64_t *actions) {
    const char *far = (const char *)&networks[n + FAR < num ? n + FAR : num - 1];
    for (size_t offset = 0; offset < offsetof(Network, flows); offset += 64) __builtin_prefetch(far + offset);
    size_t near = n + NEAR < num ? n + NEAR : num - 1;
    const Network *net = &networks[near];
    for (int place = net->head; place < net->tail && place <= net->head + SLOTS; place++)
        __builtin_prefetch(net->seen[net->requests[place]]);
    if (net->head + actions[near] < net->tail) __builtin_prefetch(&net->flows[net->requests[net->head + actions[near]]]);
    if (net->tokens == 1) {
        for (int place = 0; place < net->active; place++) __builtin_prefetch(&net->flows[net->active_rows[place]]);
        __builtin_prefetch(&all->drawn[near * (size_t)all->num_flows + (size_t)net->arrived]);
    }
}

/* Begins all episodes, and shows them; returns 0 if a network does not fit. */
int begin_all(const Shared *all, Network *networks, size_t num, float *observation, uint8_t *mask) {
    int fits = 1;
    for (size_t n = 0; n < num; n++) {
        fits = fits && begin(all, &networks[n], n);
        show(&networks[n], observation + n * (CONTEXT + COLUMNS * SLOTS), mask + n * SLOTS);
    }
    return fits;
}

/* Steps all networks; one that is over begins again with the same flows. Returns 0 if a network does not fit. */
int step(const Shared *all, Network *networks, size_t num, const int64_t *actions, float *observation, uint8_t *mask,
         double *reward, double *time, int64_t *num_finished, int32_t *finished, uint8_t *over) {
    int fits = 1;
    for (size_t n = 0; n < num; n++) {
        Network *net = &networks[n];
        look_ahead(all, networks, num, n, actions);
        int told = net->delivered;
        grant(all, net, n, (int)actions[n]);
        fits = run(all, net, n) && fits;
        reward[n] = 0.0;
        num_finished[n] = net->delivered - told;
        for (int place = told; place < net->delivered; place++) {
            size_t at = n * (size_t)all->num_flows;
            int32_t number = all->order[at + (size_t)place];
            *finished++ = number;
            reward[n] += all->completion[at + (size_t)number] <= net->flows[number % ROWS].deadline * (1.0 + 1e-12);
        }
        over[n] = net->asking == NOBODY;
        if (over[n]) fits = begin(all, net, n) && fits;
        time[n] = net->now;
        show(net, observation + n * (CONTEXT + COLUMNS * SLOTS), mask + n * SLOTS);
    }
    return fits;
}
