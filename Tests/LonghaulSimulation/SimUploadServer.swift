import LonghaulCore

/// What a server is asked that takes uploads.
struct SimUploadRequest {
    var method: String
    var url: String
    var headers: HeaderFields
    /// Bytes of the body.
    var length: Int64
    /// The body, where it is no file's.
    var text: [UInt8]
    var fetch: FetchID

    var place: String { String(url.prefix { $0 != "?" }) }

    func query(_ name: String) -> String? {
        for pair in url.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.first.map(String.init) == name { return parts.count > 1 ? "\(parts[1])" : "" }
        }
        return nil
    }

    var version: String? { headers["Upload-Draft-Interop-Version"] }
}

struct SimUploadAnswer {
    var status: Int
    var fields: [String: String] = [:]
    var body: [UInt8] = []
    /// The resource that it names for the first time.
    var names: String?
}

/// Where the bytes of a body go.
struct SimIntake {
    enum Target: Hashable {
        /// The file itself, once it is whole.
        case object
        case resource(String)
        case part(String, Int)
    }

    var target: Target
    var request: SimUploadRequest
    /// What is not to be seen before it is whole.
    var staged = SimBytes()
    /// Where the resource has to end for these bytes to follow.
    var position: Int64 = 0
    var arrived: Int64 = 0
    var completes = true
    /// The interim answer that comes before the body is read.
    var interim: SimUploadAnswer?
}

/// The protocol that a URL speaks.
enum SimDialect {
    case plain, ietf9, ietf8, ietf6, tus, s3

    /// Of the draft alone.
    var interopVersion: Int? {
        switch self {
        case .ietf9: 9
        case .ietf8: 8
        case .ietf6: 6
        case .plain, .tus, .s3: nil
        }
    }
}

/// Servers that take uploads. Each URL speaks one dialect, keeps to its rules, and forgets or moves
/// back when it is told to. What it has published is checked when it is.
final class SimUploadServer {
    /// What one URL is like.
    struct Place {
        let dialect: SimDialect
        /// What it says that one request may bring at most.
        var appendLimit: Int64?
        /// It answers OPTIONS by what it speaks. Of tus, which always does: creations may carry
        /// bytes, which is told.
        let tells: Bool
        /// A refusal of a version names the one that is spoken.
        let namesVersion: Bool
        /// Instead of all else, until it is mended.
        var refusal: Int?
        var rate: Double = 2_000_000
        /// Each file that was published under the URL.
        var objects: [SimBytes] = []
        /// How many parts the last one was made of.
        var parts = 0
        /// Most bytes that an upload to it ever had here.
        var mostArrived: Int64 = 0
        /// It gave a reason to give up what it had acknowledged.
        var hasMisled = false
        /// Requests that it may have acted upon without the client's knowing.
        var unanswered = 0
    }

    /// An upload that has begun.
    struct Resource {
        let place: String
        let fetch: FetchID
        let length: Int64
        /// What it was made for.
        var source: SourceVersion?
        var bytes = SimBytes()
        var parts: [Int: SimBytes] = [:]
        var isComplete = false
        /// The engine's life in which it was told the address.
        var toldIn: Int?
        /// The engine has used the address.
        var isKnown = false
        /// There is a reason to make another one.
        var isVoid = false
    }

    enum Reply {
        case answer(SimUploadAnswer)
        case body(SimIntake)
    }

    var places: [String: Place] = [:]
    var resources: [String: Resource] = [:]
    var random = SeededGenerator(seed: 1)
    var trouble = SimTrouble.none
    /// Which life of the engine this is.
    var life = 0
    var creations = 0
    var completions = 0
    /// What was asked or answered against the rules.
    var complaints: [String] = []
    /// What the URL may publish.
    var mayPublish: (_ url: String, _ bytes: SimBytes, _ request: SimUploadRequest) -> String? = {
        _, _, _ in nil
    }

    /// What a fetch sends now.
    var source: (FetchID) -> SourceVersion? = { _ in nil }

    /// The head of a request has come.
    func begin(_ request: SimUploadRequest) -> Reply {
        if let resource = resources[request.url], places[resource.place]?.dialect != .s3 {
            resources[request.url]?.isKnown = true
            return resumed(request, resource)
        }
        if request.url.contains("/r/") { return .answer(SimUploadAnswer(status: 404)) }
        guard let place = places[request.place] else {
            return .answer(SimUploadAnswer(status: 404))
        }
        if let refusal = place.refusal {
            // Of S3 it says that the upload is not there.
            if refusal == 404, place.dialect == .s3 { voidResources(at: request.place) }
            return .answer(SimUploadAnswer(status: refusal))
        }
        switch place.dialect {
        case .plain: return plain(request)
        case .tus: return createdTus(request, place)
        case .ietf9, .ietf8, .ietf6: return drafted(request, place)
        case .s3: return s3(request, place)
        }
    }

    /// Some of the body has come.
    ///
    /// - Returns: Whether the server still listens.
    func receive(_ pieces: [SimBytes.Run], _ count: Int64, _ intake: inout SimIntake)
        -> Bool
    {
        let place = intake.target.url(in: self, or: intake.request)
        switch intake.target {
        case .object, .part:
            intake.staged.append(pieces, count)
        case .resource(let address):
            // It has moved, or another request has taken over.
            guard resources[address]?.bytes.count == intake.position + intake.arrived,
                resources[address]?.isComplete == false
            else { return false }
            resources[address]?.bytes.append(pieces, count)
            note(place, resources[address]?.bytes.count ?? 0)
        }
        intake.arrived += count
        return true
    }

    /// The whole body has come.
    func finish(_ intake: SimIntake) -> SimUploadAnswer {
        let request = intake.request
        switch intake.target {
        case .object:
            publish(intake.staged, at: request.place, parts: 0, request)
            let tag = SimUploadServer.tag(of: intake.staged)
            return SimUploadAnswer(status: 201, fields: ["ETag": tag])
        case .part(let id, let number):
            guard resources[id] != nil else { return Self.noSuchUpload }
            resources[id]?.parts[number] = intake.staged
            let had = resources[id]?.parts.values.reduce(Int64(0)) { $0 + $1.count } ?? 0
            note(request.place, had)
            return SimUploadAnswer(
                status: 200, fields: ["ETag": SimUploadServer.tag(of: intake.staged)])
        case .resource(let address): return finishResource(address, intake)
        }
    }

    // MARK: - What all have in common

    func publish(
        _ bytes: SimBytes, at url: String, parts: Int, _ request: SimUploadRequest
    ) {
        completions += 1
        if let complaint = mayPublish(url, bytes, request) { complaints.append(complaint) }
        places[url]?.objects.append(bytes)
        places[url]?.parts = parts
        note(url, bytes.count)
    }

    func create(_ request: SimUploadRequest, length: Int64) -> String {
        let place = request.place
        let version = source(request.fetch)
        for (address, other) in resources
        where other.place == place && other.fetch == request.fetch && !other.isVoid
            && other.source == version
        {
            // It was made in vain only where its address can have been lost.
            if other.isKnown || other.toldIn == life {
                complaints.append("\(request.fetch) makes another resource beside \(address)")
            }
        }
        creations += 1
        let origin = place.split(separator: "/", omittingEmptySubsequences: false)[2]
        let address = "http://\(origin)/r/\(creations)"
        resources[address] = Resource(
            place: place, fetch: request.fetch, length: length, source: version)
        return address
    }

    func note(_ url: String, _ count: Int64) {
        let most = places[url]?.mostArrived ?? 0
        places[url]?.mostArrived = max(most, count)
    }

    /// The engine has been told of a resource.
    func told(_ address: String) { resources[address]?.toldIn = life }

    // MARK: - What befalls it

    func forget(_ address: String) {
        guard let resource = resources.removeValue(forKey: address) else { return }
        places[resource.place]?.hasMisled = true
    }

    func moveBack(_ address: String) {
        guard let resource = resources[address], !resource.isComplete, resource.bytes.count > 0
        else { return }
        let left = Int64.random(in: 0...resource.bytes.count, using: &random)
        resources[address]?.bytes.truncate(to: left)
        places[resource.place]?.hasMisled = true
    }

    /// Faults stop.
    func calm() {
        trouble = .none
        for url in places.keys {
            places[url]?.refusal = nil
            places[url]?.rate = 10_000_000
        }
    }

    /// The source is another: what was made for the one before may be left.
    func voidResources(at url: String) {
        for address in resources.keys where resources[address]?.place == url {
            resources[address]?.isVoid = true
        }
        places[url]?.hasMisled = true
    }

    static func tag(of bytes: SimBytes) -> String {
        "\"\(SimDisk.checksum(of: bytes).hex.suffix(16))\""
    }
}

extension SimIntake.Target {
    func url(in server: SimUploadServer, or request: SimUploadRequest) -> String {
        switch self {
        case .object, .part: request.place
        case .resource(let address): server.resources[address]?.place ?? request.place
        }
    }
}

extension SimBytes {
    /// Puts pieces, which may come from any place of another, at the end.
    mutating func append(_ pieces: [Run], _ count: Int64) {
        let end = self.count
        guard let first = pieces.first?.range.lowerBound else { return }
        replace(end..<end + count, with: pieces.map { $0.moved(by: end - first) })
    }
}

// MARK: - A plain one

extension SimUploadServer {
    private func plain(_ request: SimUploadRequest) -> Reply {
        switch request.method {
        case "PUT": return .body(SimIntake(target: .object, request: request))
        case "POST":
            if request.headers.contains("Tus-Resumable") {
                complaints.append("a creation by tus is sent to \(request.url), which is plain")
            }
            return .body(SimIntake(target: .object, request: request))
        default: return .answer(SimUploadAnswer(status: 405))
        }
    }
}
