# SPDX-License-Identifier: Apache-2.0
"""What Python sees of the engine: cffi's declarations, a copy of csrc/gigastream.h's.

setup.py adds the engine's own files; a test holds the declarations against the headers.
"""

from cffi import FFI

ffibuilder = FFI()
ffibuilder.cdef(
    """
    enum gs_status { GS_OK, GS_END, GS_AGAIN, GS_DAMAGED, GS_ERROR, GS_REFUSED };
    struct gs_error { int code; char message[...]; };

    struct gs_memory;
    struct gs_memory *gs_memory_new(uint64_t);
    void gs_memory_free(struct gs_memory *);
    uint64_t gs_memory_limit(const struct gs_memory *);
    uint64_t gs_memory_held(const struct gs_memory *);
    uint64_t gs_memory_peak(const struct gs_memory *);

    struct gs_engine_settings {
        uint32_t burst; uint64_t disorder_bytes; int64_t slack_ns; bool file_by_slack;
        int64_t heartbeat_ns; uint64_t heartbeat_packets;
    };
    struct gs_attached_settings {
        uint32_t batch_rows; uint32_t default_slot_count;
        int32_t flush_policy; int64_t slot_count; uint64_t max_groups; uint64_t hash_key[2];
        struct gs_memory *memory;
        bool low_level_only; bool high_level_only; bool low_taps;
        bool output_punctuation; bool deliver_every_burst;
    };
    struct gs_opened {
        int descriptor; uint8_t first_bytes[8]; uint32_t first_byte_count; bool wants_room;
    };
    struct gs_source_config {
        const char *interface; const char *label; const char *path;
        int (*open)(void *, struct gs_opened *, struct gs_error *);
        void (*close)(void *); void *context;
        bool use_mmap; bool is_pipe; const struct gs_live_config *live;
        int64_t live_slack_ns, max_skew_ns; int64_t promise_ns; int64_t first_ns;
    };
    extern "Python" int gs_host_open(void *, struct gs_opened *, struct gs_error *);
    extern "Python" void gs_host_close(void *);
    struct gs_scanned_promise { int64_t least_ns, high_ns; };
    struct gs_live_config {
        const char *device; uint32_t block_bytes; uint32_t block_count;
        uint32_t retire_timeout_ms; uint32_t snap_length; bool promiscuous; bool outgoing;
        const struct gs_link_filter *filters; uint32_t filter_count;
        struct gs_fanout_group *fanout_group; uint32_t spare_sockets;
        const char *libpcap; struct gs_ring_device *ring_device;
    };
    struct gs_fanout_group *gs_fanout_group_new(void);
    void gs_fanout_group_free(struct gs_fanout_group *);
    struct gs_mock_packet {
        int64_t timestamp_ns; const uint8_t *bytes; uint32_t caplen, len;
        bool has_tag; uint16_t tag_type, tag_control;
    };
    struct gs_mock_ring *gs_mock_ring_new(uint32_t, uint32_t, uint32_t);
    void gs_mock_ring_free(struct gs_mock_ring *);
    bool gs_mock_ring_receive(struct gs_mock_ring *, const struct gs_mock_packet *);
    struct gs_ring_device *gs_mock_ring_device(struct gs_mock_ring *);
    void gs_mock_ring_retire(struct gs_mock_ring *);
    void gs_mock_ring_set_link_state(struct gs_mock_ring *, uint8_t);
    uint8_t *gs_mock_ring_open_block(struct gs_mock_ring *);
    struct gs_source_statistics {
        const char *interface; const char *label;
        uint64_t read, undecodable, filtered, late, skew, decoded;
        uint64_t truncated, carried; uint64_t bytes, total_bytes; int64_t worst_lateness_ns;
        uint64_t kernel_received, kernel_dropped, freezes, nic_dropped;
        uint64_t oversized, unread, filtered_tagged; int64_t lag_ns;
        uint64_t clock_steps; int64_t clock_step_ns; int64_t high_timestamp_ns, promise_ns;
        int32_t link_state;
        int32_t is_ended, is_damaged; const char *message;
    };
    struct gs_lfta_statistics {
        const char *name; const char *interface;
        uint64_t not_of_protocol, prefiltered, rejected, no_value, accepted, evicted;
        uint64_t slots, held_bytes;
    };
    struct gs_operator_statistics {
        const char *name; const char *kind;
        uint64_t rows_in, rows_out, rejected, no_value, held, groups_refused, beyond_limit;
        uint64_t refused_for_memory; uint64_t held_bytes, peak_bytes;
    };
    typedef int (*gs_filter_function)(const void *, const void *, const uint8_t *);

    struct gs_engine;
    struct gs_attached_set;
    struct gs_field { const char *name; const char *subtype; uint8_t type, nullable;
                      int8_t temporal; };
    struct gs_schema { const char *stream; uint32_t column_count;
                       const struct gs_field *fields; };
    struct gs_joint_bound { bool is_given; uint32_t columns[2]; int64_t bounds[2]; };
    struct gs_punctuation { int64_t *bounds; struct gs_joint_bound joint; };
    struct gs_trace_step { uint32_t node, queue_length; int64_t received_ns;
                           uint64_t rows_in, rows_out; int64_t cost_ns; };
    struct gs_trace { uint64_t trace_id; uint32_t step_count;
                      struct gs_trace_step steps[16]; };
    struct gs_batch {
        const struct gs_schema *schema; struct gs_punctuation punctuation;
        uint32_t row_count; uint32_t source; uint64_t sequence; int64_t made_at_ns;
        bool is_heartbeat; bool is_end; bool is_partial; struct gs_trace trace; ...;
    };

    int gs_engine_new(const struct gs_engine_settings *, struct gs_engine **, struct gs_error *);
    int gs_engine_add_source(struct gs_engine *, const struct gs_source_config *,
                             struct gs_error *);
    int gs_engine_add_filter(struct gs_engine *, uint32_t, gs_filter_function, const void *,
                             struct gs_error *);
    int gs_engine_attach(struct gs_engine *, struct gs_attached_set *, struct gs_error *);
    void gs_engine_detach(struct gs_engine *, struct gs_attached_set *);
    int gs_engine_start(struct gs_engine *, struct gs_error *);
    int gs_engine_run(struct gs_engine *, uint64_t, int, struct gs_error *);
    void gs_engine_replay_until(struct gs_engine *, int64_t);
    int64_t gs_engine_next_timestamp(const struct gs_engine *);
    void gs_engine_stop(struct gs_engine *);
    void gs_engine_halt(struct gs_engine *);
    void gs_engine_set_clock(struct gs_engine *, int64_t, int64_t);
    void gs_engine_free(struct gs_engine *);
    int gs_scan_promise(int, uint64_t, struct gs_scanned_promise *, struct gs_error *);

    uint32_t gs_engine_source_count(const struct gs_engine *);
    void gs_engine_source_statistics(const struct gs_engine *, uint32_t,
                                     struct gs_source_statistics *);

    int gs_attached_load(const char *, const struct gs_attached_settings *,
                         struct gs_attached_set **, struct gs_error *);
    int gs_attached_tap(struct gs_attached_set *, uint32_t, struct gs_error *);
    int gs_attached_add_interface(struct gs_attached_set *, const char *, struct gs_error *);
    int gs_attached_stand_alone(struct gs_attached_set *, struct gs_error *);
    int gs_attached_drain(struct gs_attached_set *, struct gs_error *);
    int gs_attached_check(const struct gs_attached_set *, struct gs_error *);
    bool gs_attached_is_answered(const struct gs_attached_set *);
    struct gs_batch *gs_attached_take(struct gs_attached_set *, uint32_t *);
    void gs_attached_free(struct gs_attached_set *);
    uint32_t gs_attached_port_count(const struct gs_attached_set *);
    uint32_t gs_attached_port_node(const struct gs_attached_set *, uint32_t);
    const char *gs_attached_port_interface(const struct gs_attached_set *, uint32_t);
    uint32_t gs_attached_node_count(const struct gs_attached_set *);
    const char *gs_attached_node_name(const struct gs_attached_set *, uint32_t);
    uint32_t gs_attached_lfta_count(const struct gs_attached_set *);
    void gs_attached_lfta_statistics(const struct gs_attached_set *, uint32_t,
                                     struct gs_lfta_statistics *);
    uint32_t gs_attached_operator_count(const struct gs_attached_set *);
    void gs_attached_operator_statistics(const struct gs_attached_set *, uint32_t,
                                         struct gs_operator_statistics *);

    struct ArrowSchema { ...; };
    struct ArrowArray { ...; };
    struct gs_push {
        uint32_t port; struct ArrowArray *array; struct ArrowSchema *schema;
        const int64_t *bounds; struct gs_joint_bound joint; bool is_heartbeat, is_end;
    };
    int gs_attached_push(struct gs_attached_set *, const struct gs_push *, struct gs_error *);
    int gs_attached_hand_over(struct gs_attached_set *, uint32_t, struct gs_batch *,
                              struct gs_error *);
    int gs_batch_export(struct gs_batch *, struct ArrowArray *, struct ArrowSchema *,
                        struct gs_error *);
    int gs_batch_import(struct ArrowArray *, struct ArrowSchema *, const struct gs_schema *,
                        struct gs_batch **, struct gs_error *);
    void gs_batch_release(struct gs_batch *);
    size_t gs_batch_bytes(const struct gs_batch *);

    int gs_check_prefix_file(const uint8_t *, uint32_t, struct gs_error *);
    int gs_gain_no_privileges(struct gs_error *);
    int gs_drop_capabilities(struct gs_error *);
    int gs_give_up_privileges(uint32_t, uint32_t, struct gs_error *);
    struct gs_confinement { bool has_seccomp; int landlock_abi; };
    void gs_confine(const char *const *, uint32_t, struct gs_confinement *);
    int gs_engine_promise(struct gs_engine *, const char *, int64_t, struct gs_error *);

    struct gs_text { uint8_t *bytes; size_t length; size_t capacity; };
    void gs_text_reset(struct gs_text *);
    void gs_text_free(struct gs_text *);
    int gs_csv_header(const struct gs_schema *, struct gs_text *);
    int gs_csv_rows(const struct gs_batch *, struct gs_text *);
    int gs_json_rows(const struct gs_batch *, const char *, struct gs_text *);
    """
)
ffibuilder.set_source(
    "gigastream.engine._native",
    """
    #include "gigastream.h"
    #include "arrow/batch.h"
    #include "capture/fanout.h"
    #include "output/rows.h"
    #include "runtime/confinement.h"
    #include "runtime/privileges.h"
    """,
    py_limited_api=True,
)
