internal import Longhaul
internal import NIOCore
internal import Synchronization

/// Connections at once; a further one takes the place of one that is not needed.
let servedConnections = 512
/// Bytes of requests that are not answered yet, of all connections.
let servedWaitingBytes = 64 << 20

/// Decides which clients have a connection while there are more clients than places, and more bytes
/// of requests than are to be kept. Unproven clients never keep out proven or new ones.
struct ConnectionPlaces: Sendable {
    enum Standing: Int, Comparable, Sendable {
        /// The client has not sent a whole request yet, or has not shown the secret.
        case unproven
        /// The client requests nothing, or only listens.
        case idle
        /// The client's answer is due.
        case answering

        static func < (one: Standing, other: Standing) -> Bool { one.rawValue < other.rawValue }
    }

    private struct Place {
        var standing = Standing.unproven
        /// Grows with each change of standing: the smallest is the oldest.
        var turn: Int
        /// Bytes of an unanswered request.
        var bytes = 0
    }

    private var places: [Int: Place] = [:]
    private var turns = 0
    private var bytes = 0
    private let countMax: Int
    private let bytesMax: Int

    init(
        countMax: Int = servedConnections, bytesMax: Int = servedWaitingBytes
    ) {
        self.countMax = countMax
        self.bytesMax = bytesMax
    }

    /// Gives a place to a new connection.
    ///
    /// - Returns: Its number, and the connection to close for it: the oldest unproven one, else the
    ///   one that has been idle longest. `nil`: answers are due to all.
    mutating func open() -> (number: Int, closing: Int?)? {
        var closing: Int?
        if places.count >= countMax {
            let last = places.min {
                ($0.value.standing, $0.value.turn) < ($1.value.standing, $1.value.turn)
            }
            guard let last, last.value.standing < .answering else { return nil }
            closing = last.key
            close(last.key)
        }
        turns += 1
        places[turns] = Place(turn: turns)
        return (turns, closing)
    }

    mutating func close(_ number: Int) {
        bytes -= places.removeValue(forKey: number)?.bytes ?? 0
    }

    mutating func set(_ number: Int, _ standing: Standing) {
        guard places[number] != nil else { return }
        turns += 1
        places[number]?.standing = standing
        places[number]?.turn = turns
    }

    /// Bytes of a request have come.
    ///
    /// - Returns: Connections to close: while too much is kept, the unproven one with the most.
    mutating func received(_ count: Int, on number: Int) -> [Int] {
        guard places[number] != nil else { return [] }
        places[number]?.bytes += count
        bytes += count
        var closing: [Int] = []
        while bytes > bytesMax {
            let largest = places.filter { $0.value.standing == .unproven && $0.value.bytes > 0 }
                .max { $0.value.bytes < $1.value.bytes }
            guard let largest else { break }
            closing.append(largest.key)
            close(largest.key)
        }
        return closing
    }

    /// The bytes of its requests are needed no more.
    mutating func forgetBytes(of number: Int) {
        bytes -= places[number]?.bytes ?? 0
        places[number]?.bytes = 0
    }
}

/// The places of a listener and the connections that have them.
final class ConnectionTable: Sendable {
    private struct State {
        var places: ConnectionPlaces
        var channels: [Int: any Channel] = [:]
    }

    private let state: Mutex<State>

    init(_ places: ConnectionPlaces = ConnectionPlaces()) {
        state = Mutex(State(places: places))
    }

    /// `nil`: there is no place.
    func place(for channel: any Channel) -> ConnectionPlace? {
        let opened = state.withLock { state -> (number: Int, closing: (any Channel)?)? in
            guard let (number, closing) = state.places.open() else { return nil }
            state.channels[number] = channel
            return (number, closing.flatMap { state.channels.removeValue(forKey: $0) })
        }
        guard let (number, closing) = opened else { return nil }
        closing?.close(promise: nil)
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.places.close(number)
                state.channels[number] = nil
            }
        }
        return ConnectionPlace(number: number, table: self)
    }

    fileprivate func change(_ change: (inout ConnectionPlaces) -> Void) {
        state.withLock { change(&$0.places) }
    }

    fileprivate func received(_ count: Int, on number: Int) {
        let closing = state.withLock { state in
            state.places.received(count, on: number).compactMap {
                state.channels.removeValue(forKey: $0)
            }
        }
        for channel in closing { channel.close(promise: nil) }
    }
}

/// The place of one connection.
struct ConnectionPlace: Sendable {
    fileprivate let number: Int
    fileprivate let table: ConnectionTable

    func set(_ standing: ConnectionPlaces.Standing) {
        table.change { $0.set(number, standing) }
    }

    func forgetBytes() {
        table.change { $0.forgetBytes(of: number) }
    }

    fileprivate func received(_ count: Int) {
        table.received(count, on: number)
    }
}

/// Counts the bytes of a connection before any decoder keeps them.
final class ReadMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let place: ConnectionPlace

    init(_ place: ConnectionPlace) {
        self.place = place
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        place.received(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }
}
