import Foundation
import HTTPTypes
import LonghaulHTTPTypes
import LonghaulTestSupport
import Testing

@testable import Longhaul

/// Requests and responses of swift-http-types.
@Suite(.timeLimit(.minutes(60))) struct HTTPTypesTests {
    @Test func anHTTPRequestBecomesATransfer() throws {
        var get = HTTPRequest(
            method: .get, scheme: "https", authority: "example.com:81", path: "/a%20b?c=d")
        get.headerFields[.accept] = "image/*"
        get.headerFields.append(HTTPField(name: .cookie, value: "a=1"))
        get.headerFields.append(HTTPField(name: .cookie, value: "b=2"))
        let request = try TransferRequest(get)
        #expect(request.url == "https://example.com:81/a%20b?c=d")
        #expect(request.headers["accept"] == "image/*")
        #expect(request.headers.fields.count == 2)
        #expect(request.headers["Cookie"] == "a=1; b=2")
        #expect(request.method == nil && request.options.upload == nil)

        get.method = .put
        #expect(try TransferRequest(get).method == .put)
        get.method = .post
        #expect(try TransferRequest(get).method == .post)
        get.method = .delete
        #expect(refusal(get) == .unsupported)
        get.method = .get
        get.scheme = "ftp"
        #expect(refusal(get) == .invalidRequest)
        get.scheme = nil
        #expect(refusal(get) == .invalidRequest)
    }

    private func refusal(_ request: HTTPRequest) -> LonghaulError.Code? {
        do {
            _ = try TransferRequest(request)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func anAnswerHasItsStatusAndAllFields() throws {
        var answer = TransferResponse(url: "https://example.com/a", statusCode: 201)
        answer.headers.append(name: "Set-Cookie", value: "a=1")
        answer.headers.append(name: "set-cookie", value: "b=2")
        answer.headers.append(name: "not a token", value: "c")
        let response = try #require(answer.httpResponse)
        #expect(response.status == .created)
        #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2"])
        #expect(response.headerFields.count == 2)
        answer.statusCode = nil
        #expect(answer.httpResponse == nil)
    }

    @Test func aSessionAnswersWithAnHTTPResponse() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let name = "a?size=100K&etag=v1"
                let request = try request(.get, server.url(name))
                let (data, response) = try await within { try await session.data(for: request) }
                #expect(try [UInt8](data) == server.content(name))
                #expect(response.status == .ok)
                #expect(response.headerFields[.contentLength] == "102400")
                let (file, _) = try await within { try await session.download(for: request) }
                #expect(try [UInt8](Data(contentsOf: file)) == server.content(name))
                let task = try await session.download(request, to: home.file("b"))
                let done = try await within { try await task.value }
                #expect(done.response.httpResponse?.status == .ok)

                let upload = try self.request(.put, server.url(name))
                let error = await #expect(throws: LonghaulError.self) {
                    _ = try await session.data(for: upload)
                }
                #expect(error?.code == .unsupported)
                let other = await #expect(throws: LonghaulError.self) {
                    try await session.upload(home.file("b"), with: request)
                }
                #expect(other?.code == .unsupported)
            }
        }
    }

    @Test func aFileIsSentWithAnHTTPRequest() async throws {
        guard UploadServer.isInstalled else { return }
        let server = try await UploadServer.start()
        let home = try SessionHome()
        try home.scratch.write("content", to: "files/source")
        try await home.withSession { session in
            let request = try request(.put, server.url("plain/a"))
            let (_, response) = try await within {
                try await session.upload(for: request, from: home.file("source"))
            }
            #expect(response.status.kind == .successful)
            #expect(try String(contentsOfFile: server.file("a"), encoding: .utf8) == "content")
        }
    }

    private func request(_ method: HTTPRequest.Method, _ url: String) throws -> HTTPRequest {
        let parts = try #require(URLComponents(string: url))
        let (host, port) = (try #require(parts.host), try #require(parts.port))
        let path = parts.percentEncodedPath + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
        return HTTPRequest(
            method: method, scheme: parts.scheme, authority: "\(host):\(port)", path: path)
    }
}
