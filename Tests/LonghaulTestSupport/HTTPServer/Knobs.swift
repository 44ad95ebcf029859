/// The behaviour that a request's query demands of the server, lies included. A knob that is
/// unknown, given twice or malformed is an error, never ignored: otherwise a test with a misspelt
/// knob would pass without testing anything.
///
/// "The first K" and "after K" count per URL, that is per exact request target: `status` counts
/// every request, `cut` and `stall` count the answers that carry the file's content.
package struct Knobs: Sendable, Equatable {
    // The file.

    /// `size=64M` (binary suffixes K, M, G); default 64 KiB.
    package var size = 65_536
    package var seed = 0
    /// `etag=v1` sends `ETag: "v1"`.
    package var etag: String?
    /// `weak=v1` sends `ETag: W/"v1"`.
    package var weak: String?
    /// Seconds since 1970 for `Last-Modified`.
    package var lastmod: Int?
    /// Seconds since 1970 for `Date`; default: now.
    package var date: Int?
    package var contenttype = "application/octet-stream"
    package var disposition: String?
    package var digest = false
    package var baddigest = false
    package var contentdigest = false
    /// Labels the bytes `Content-Encoding: gzip`, as they are.
    package var gzip = false
    /// From request K+1 on the file is another one: seed + 1, `-changed` appended to the ETag,
    /// `Last-Modified` one hour later.
    package var changeafter: Int?
    /// The request with this number (from 1) reaches a server with another entity tag for the same
    /// file.
    package var othertagat: Int?
    /// So does each request with an even number.
    package var othertags = false
    /// Each request finds another entity tag and another `Last-Modified`, of the same file.
    package var newnames = false
    /// The size of the file after the change; default: the same.
    package var changesize: Int?

    // Ranges.

    package var noranges = false
    package var ignorerange = false
    package var noifrange = false
    package var ifrangefull = false
    /// The error of the start in `Content-Range`; the body begins there too.
    package var wrongstart = 0
    /// The error of the end in `Content-Range`; the body is the requested range.
    package var wrongend = 0
    /// The error of the total in `Content-Range`.
    package var wrongtotal = 0
    package var wrongunit = false
    package var unknowntotal = false
    package var norangeheader = false
    package var multipart = false
    package var changedetag = false
    /// Answers at most this many bytes of the range, as RFC 9110 §14.2 allows.
    package var maxrange: Int?
    /// Answers `bytes=a-b` with all bytes from `a`, as small servers do that know `bytes=a-` alone.
    package var norangeend = false
    package var empty206 = false
    /// Sends the right range, but with status 200.
    package var contentrange200 = false
    /// Sends each part and the whole with 206.
    package var always206 = false
    /// `Content-Range`, with `{start}`, `{end}` and `{total}` in it.
    package var contentrange: String?
    /// Answers `bytes=a-` with 416, and `bytes=a-b` as asked.
    package var closedranges = false
    package var bad416: Int?
    package var no416range = false
    /// Answers each request with a Range so.
    package var rangestatus: Int?

    // The answer instead of the file.

    package var status: Int?
    /// The first K requests only.
    package var statuses: Int?
    /// The first N requests are answered as usual; `statuses` counts from there.
    package var statusafter = 0
    package var notModified = false
    /// Seconds from now: `Retry-After: 2`.
    package var retryafter: Int?
    /// Seconds from now, sent as a date.
    package var retryafterdate: Int?
    /// The request with this number gets the login page of a network.
    package var pageat: Int?
    /// The request with this number, and as many in all as `wordtimes` says, are answered with
    /// these words.
    package var wordsat: Int?
    package var wordtimes = 1
    package var words = ""
    package var wordstype = "application/json"
    /// `redirect=URL`, repeatable: each request is sent to the next one.
    package var redirect: [String] = []
    package var redirectcode = 302
    /// This many hops, each to the same path with one hop less.
    package var redirects = 0
    package var auth: String?
    package var needheader: String?

    // The head.

    /// `header=Name:value`, repeatable: appended unchanged.
    package var header: [String] = []
    /// `noheader=Name`, repeatable: removed from the head.
    package var noheader: [String] = []
    package var headerflood = 0
    package var bigheader = 0
    /// This many `103 Early Hints` before the answer.
    package var interim = 0

    // Framing.

    package var nolength = false
    package var closelength = false
    package var badchunk = false
    package var short = 0
    package var long = 0
    package var trailergarbage = false
    /// Answers `Connection: close` and does.
    package var close = false

    // Time and accidents.

    package var delay = 0
    package var drip: Int?
    package var dripms = 100
    package var rate: Int?
    /// The answer with content of this number crawls, at 4 kB a second.
    package var crawlat: Int?
    package var cut: Int?
    package var cuts: Int?
    package var cutreset = false
    package var stall: Int?
    package var stalls: Int?
    /// Closes the connection instead of answering.
    package var drop = false
    package var drops: Int?

    package init() {}
}

/// A knob that the server does not know or cannot parse.
package struct BadKnob: Error, Sendable, Equatable, CustomStringConvertible {
    package var name: String
    package var reason: String
    package var description: String { "bad knob '\(name)': \(reason)" }
}
