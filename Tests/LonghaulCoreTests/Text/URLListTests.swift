import LonghaulCore
import Testing

@Suite struct URLListTests {
    private func read(_ text: String) -> (entries: [URLList.Entry], problems: [URLList.Problem]) {
        var list = URLList()
        var entries: [URLList.Entry] = []
        var problems: [URLList.Problem] = []
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            let output = list.take(Substring(line))
            if let entry = output.entry { entries.append(entry) }
            if let problem = output.problem { problems.append(problem) }
        }
        if let entry = list.finish() { entries.append(entry) }
        return (entries, problems)
    }

    @Test func plainURLs() {
        let (entries, problems) = read("http://a/1\n\n# comment\n  \nhttp://a/2\r\nhttp://a/3")
        #expect(problems.isEmpty)
        #expect(entries.map(\.urls) == [["http://a/1"], ["http://a/2"], ["http://a/3"]])
        #expect(entries.map(\.line) == [1, 5, 6])
        #expect(entries.allSatisfy { $0.options == URLListOptions() })
    }

    @Test func aria2InputFile() throws {
        let sha1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
        let (entries, problems) = read(
            """
            http://a/f\thttp://b/f\t\tftp://c/f
              out=name.iso
              dir=/srv/files
              header=X-A: 1
              header=X-B: a=b
              # a comment among the options
              checksum=sha-1=\(sha1)

              user-agent=me
            \tmax-download-limit=10K
              http-user=u
              http-passwd=p
              split=4
            http://a/g
              out = other
            """)
        #expect(problems.isEmpty)
        #expect(
            entries.map(\.urls) == [["http://a/f", "http://b/f", "ftp://c/f"], ["http://a/g"]])
        let options = entries[0].options
        #expect(options.out == "name.iso")
        #expect(options.directory == "/srv/files")
        #expect(options.headers.map(\.name) == ["X-A", "X-B", "User-Agent"])
        #expect(options.headers.map(\.value) == ["1", "a=b", "me"])
        #expect(options.checksum == Checksum(parsing: "sha1:\(sha1)"))
        #expect(options.limitRate == 10_240)
        #expect(options.credentials == "u:p")
        #expect(options.connections == 4)
        #expect(entries[1].options.out == "other")
    }

    @Test(arguments: [
        ("nonsense", 1, "no scheme"),
        ("http://a/1\nhttp://u:secret@/2", 2, "REDACTED"),
        ("http://a/1\thttps:///x", 1, "names no host"),
        ("  out=x", 1, "without a URL"),
        ("http://a/1\n  bogus=1", 2, "bogus is not known"),
        ("http://a/1\n  out", 2, "is no option"),
        ("http://a/1\n  out=", 2, "empty"),
        ("http://a/1\n  header=oops", 2, "Name: value"),
        ("http://a/1\n  header=Range: bytes=0-1", 2, "set by Longhaul"),
        ("http://a/1\n  checksum=sha-1=12", 2, "checksum"),
        ("http://a/1\n  split=0", 2, "split"),
        ("http://a/1\n  max-download-limit=x", 2, "10M"),
    ])
    func problem(text: String, line: Int, words: String) {
        let (_, problems) = read(text)
        #expect(problems.count == 1)
        #expect(problems.first?.line == line)
        #expect(problems.first?.message.contains(words) == true)
        #expect(problems.first?.message.contains("secret") == false)
    }

    /// A bad entry is dropped whole, its options with it; those around it stand.
    @Test func goodLinesSurviveBadOnes() {
        let (entries, problems) = read(
            """
            http://a/1
              out=one
            ftp:/bad
              out=bad
              bogus=not told twice
            http://a/2
              bogus=1
              out=two
            http://a/3
            """)
        #expect(entries.map(\.urls) == [["http://a/1"], ["http://a/3"]])
        #expect(problems.map(\.line) == [3, 7])
    }

    @Test func aByteOrderMarkIsNoPartOfTheURL() {
        #expect(read("\u{FEFF}http://a/1").entries.map(\.urls) == [["http://a/1"]])
    }

    @Test func nothing() {
        #expect(read("").entries.isEmpty)
        #expect(read("\n# only this\n").entries.isEmpty)
    }
}

@Suite struct ProgressEstimateTests {
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 0) + seconds }

    @Test func aSteadyRateIsFoundAtOnceAndKept() {
        var estimate = ProgressEstimate()
        #expect(estimate.secondsLeft(bytesLeft: 1) == nil)
        for second in 0...20 {
            estimate.sample(bytes: Int64(second) * 1000, at: at(Double(second)))
            if second > 0 { #expect(estimate.bytesPerSecond == 1000) }
        }
        #expect(estimate.secondsLeft(bytesLeft: 5000) == 5)
    }

    @Test func aChangeShowsWithinSeconds() throws {
        var estimate = ProgressEstimate()
        for second in 0...10 {
            estimate.sample(bytes: Int64(second) * 1000, at: at(Double(second)))
        }
        for second in 11...20 { estimate.sample(bytes: 10_000, at: at(Double(second))) }
        #expect(try #require(estimate.bytesPerSecond) < 100)
    }

    @Test func oddSamplesDoNoHarm() {
        var estimate = ProgressEstimate()
        estimate.sample(bytes: 1000, at: at(1))
        estimate.sample(bytes: 2000, at: at(1))
        #expect(estimate.bytesPerSecond == nil)
        estimate.sample(bytes: 0, at: at(2))
        #expect(estimate.bytesPerSecond == 0)
        #expect(estimate.secondsLeft(bytesLeft: 10) == nil)
    }
}
