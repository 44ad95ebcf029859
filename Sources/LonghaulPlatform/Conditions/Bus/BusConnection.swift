internal import CSystemd
internal import Glibc
internal import LonghaulModel

/// Messages of the bus that are read in one turn.
private let busMessages = 1_000

/// A connection to a message bus, used by one thread. Nothing here blocks: replies and signals are
/// delivered while ``process()`` runs.
final class BusConnection {
    typealias Handler = (BusMessage) -> Void

    private let bus: OpaquePointer
    private let address: String

    /// Begins to connect. A failure to connect may show only in ``process()``.
    init(address: String) throws(SystemFailure) {
        guard lh_systemd_load() != 0 else {
            throw SystemFailure(operation: "load", path: "libsystemd.so.0", errno: ENOENT)
        }
        var made: OpaquePointer?
        try check(sd_bus_new(&made), "sd_bus_new", address)
        guard let made else { throw SystemFailure(operation: "sd_bus_new", path: "", errno: EIO) }
        bus = made
        self.address = address
        try check(sd_bus_set_address(bus, address), "sd_bus_set_address", address)
        try check(sd_bus_set_bus_client(bus, 1), "sd_bus_set_bus_client", address)
        try check(sd_bus_start(bus), "connect", address)
    }

    deinit {
        // This also frees the slots of unanswered calls and of listeners.
        sd_bus_close_unref(bus)
    }

    var descriptor: Int32 { sd_bus_get_fd(bus) }

    /// Events to poll the descriptor for.
    var events: Int16 { Int16(truncatingIfNeeded: max(0, sd_bus_get_events(bus))) }

    /// Seconds until ``process()`` has to be called although no message has arrived.
    var patience: Double? {
        var until: UInt64 = 0
        guard sd_bus_get_timeout(bus, &until) > 0, until != .max else { return nil }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return max(0, Double(until) / 1e6 - Double(now.tv_sec) - Double(now.tv_nsec) / 1e9)
    }

    /// Sends, receives and calls handlers until no work is left, or a batch of messages is done.
    ///
    /// - Throws: when the connection is lost, or could not be made.
    func process() throws(SystemFailure) {
        for _ in 0..<busMessages {
            if try check(sd_bus_process(bus, nil), "process", address) == 0 { break }
        }
        guard sd_bus_is_open(bus) > 0 else {
            throw SystemFailure(operation: "process", path: address, errno: ECONNRESET)
        }
    }

    /// An argument of a call, by its type.
    enum Argument {
        /// `s`
        case text(String)
        /// `u`
        case number(UInt32)
        /// `i`
        case signed(Int32)
        /// An empty array of elements of this type: `s`, `{sv}`.
        case empty(String)
    }

    struct Call {
        var destination: String
        var path: String
        var interface: String
        var member: String
        /// The bus may start the service that is called.
        var startsService = false
        var arguments: [Argument] = []
        var seconds: Double = 10
    }

    /// `onReply` is called once, with a reply or an error; not if the connection ends before.
    func call(_ call: Call, onReply: @escaping Handler) throws(SystemFailure) {
        var message: OpaquePointer?
        try check(
            sd_bus_message_new_method_call(
                bus, &message, call.destination, call.path, call.interface, call.member),
            "sd_bus_message_new_method_call", call.member)
        defer { sd_bus_message_unref(message) }
        try check(
            sd_bus_message_set_auto_start(message, call.startsService ? 1 : 0),
            "sd_bus_message_set_auto_start", call.member)
        for argument in call.arguments {
            try check(
                Self.append(argument, to: message), "sd_bus_message_append_basic", call.member)
        }
        var slot: OpaquePointer?
        let box = Unmanaged.passRetained(Box(onReply))
        let answer = sd_bus_call_async(
            bus, &slot, message, Self.receive, box.toOpaque(),
            UInt64(Int64(bounding: max(0, call.seconds) * 1e6)))
        try keep(slot, box, answer, "sd_bus_call_async", call.member)
    }

    private static func append(_ argument: Argument, to message: OpaquePointer?) -> Int32 {
        func code(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }
        switch argument {
        case .text(let text):
            return text.withCString { sd_bus_message_append_basic(message, code("s"), $0) }
        case .number(let number):
            return withUnsafePointer(to: number) {
                sd_bus_message_append_basic(message, code("u"), $0)
            }
        case .signed(let number):
            return withUnsafePointer(to: number) {
                sd_bus_message_append_basic(message, code("i"), $0)
            }
        case .empty(let type):
            let opened = sd_bus_message_open_container(message, code("a"), type)
            return opened < 0 ? opened : sd_bus_message_close_container(message)
        }
    }

    /// `onSignal` is called for each message that matches the rule.
    func listen(_ rule: String, onSignal: @escaping Handler) throws(SystemFailure) {
        var slot: OpaquePointer?
        let box = Unmanaged.passRetained(Box(onSignal))
        // Without an install callback, the connection would end if the bus refuses the rule.
        let answer = sd_bus_add_match_async(
            bus, &slot, rule, Self.receive, { _, _, _ in 0 }, box.toOpaque())
        try keep(slot, box, answer, "sd_bus_add_match_async", rule)
    }

    // MARK: -

    private final class Box {
        let handler: Handler

        init(_ handler: @escaping Handler) {
            self.handler = handler
        }
    }

    private static let receive: sd_bus_message_handler_t = { message, data, _ in
        guard let message, let data else { return 0 }
        Unmanaged<Box>.fromOpaque(data).takeUnretainedValue().handler(BusMessage(message))
        return 0
    }

    /// The slot lives as long as the connection, or until its call is answered. It then releases
    /// the box.
    private func keep(
        _ slot: OpaquePointer?, _ box: Unmanaged<Box>, _ answer: Int32, _ operation: String,
        _ subject: String
    ) throws(SystemFailure) {
        guard answer >= 0, let slot else {
            box.release()
            throw .answered(answer, operation, subject)
        }
        sd_bus_slot_set_destroy_callback(slot) { data in
            if let data { Unmanaged<Box>.fromOpaque(data).release() }
        }
        sd_bus_slot_set_floating(slot, 1)
        // Drops this reference; the connection holds its own.
        sd_bus_slot_unref(slot)
    }
}

extension [BusConnection.Argument] {
    static func texts(_ texts: String...) -> [BusConnection.Argument] {
        texts.map { .text($0) }
    }
}
