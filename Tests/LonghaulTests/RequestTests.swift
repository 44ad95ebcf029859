import Foundation
import FoundationNetworking
import Longhaul
import LonghaulURLRequest
import Testing

@Suite struct RequestTests {
    @Test func aURLRequestBecomesATransfer() throws {
        var old = URLRequest(url: try #require(URL(string: "https://example.com/a b?c=d")))
        old.setValue("image/*", forHTTPHeaderField: "Accept")
        old.timeoutInterval = 17
        old.allowsCellularAccess = false
        let request = try TransferRequest(old)
        #expect(request.url == "https://example.com/a%20b?c=d")
        #expect(request.headers["accept"] == "image/*")
        #expect(request.options.stallTimeout == 17)
        #expect(request.schedule.requires.unmetered)
        old.httpMethod = "POST"
        let error = #expect(throws: LonghaulError.self) { try TransferRequest(old) }
        #expect(error?.code == .unsupported)
    }

    @Test func datesAreKeptToTheMillisecond() throws {
        var request = TransferRequest(url: try #require(URL(string: "https://example.com/a")))
        #expect(request.earliestBeginDate == nil)
        let date = Date(timeIntervalSince1970: 1_700_000_000.123)
        request.earliestBeginDate = date
        #expect(request.earliestBegin?.milliseconds == 1_700_000_000_123)
        #expect(abs(try #require(request.earliestBeginDate).timeIntervalSince(date)) < 0.001)
        request.earliestBeginDate = .distantFuture
        #expect(request.earliestBegin != nil)
        request.earliestBeginDate = .now + 3600
        request.earliestBeginDate = nil
        #expect(request.earliestBegin == nil)
    }

    @Test func whatWasSaidIsKnown() throws {
        var request = TransferRequest(url: try #require(URL(string: "https://example.com/a")))
        let same = request
        request.isDiscretionary = false
        #expect(request == same)
        #expect(request.hashValue == same.hashValue)
    }
}
