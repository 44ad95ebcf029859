import LonghaulTestSupport
import Testing

@testable import Longhaul

/// Where an object of S3 is, by the variables and files of the AWS command line.
@Suite struct S3LocationTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch("aws")
        _ = try scratch.directory(".aws")
    }

    private func located(
        _ variables: [String: String], config: String = "", credentials: String = "",
        url: String = "s3://b/k"
    ) throws -> TransferRequest {
        try scratch.write(config, to: ".aws/config")
        try scratch.write(credentials, to: ".aws/credentials")
        var environment = variables
        environment["HOME"] = scratch.path
        var request = TransferRequest(url: url, destination: .file("/f"))
        request.options.upload = UploadOptions()
        request.options.user = "key:secret"
        return try S3Location { environment[$0] }.located(request)
    }

    private static let services = """
        [default]
        region = eu-west-1
        services = mine
        endpoint_url = http://global:1
        [services mine]
        dynamodb =
          endpoint_url = http://other:1
        s3 =
          endpoint_url = http://service:1/
        """

    @Test(
        arguments: [
            ([:], "https://b.s3.us-east-1.amazonaws.com/k"),
            (["AWS_DEFAULT_REGION": "cn-north-1"], "https://b.s3.cn-north-1.amazonaws.com.cn/k"),
            (["AWS_ENDPOINT_URL": "http://h:1"], "http://h:1/b/k"),
            (
                ["AWS_ENDPOINT_URL": "http://h:1", "AWS_ENDPOINT_URL_S3": "http://s:1"],
                "http://s:1/b/k"
            ),
            (["AWS_ENDPOINT_URL": ""], "https://b.s3.us-east-1.amazonaws.com/k"),
            (
                ["AWS_ENDPOINT_URL": "http://h:1", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"],
                "https://b.s3.us-east-1.amazonaws.com/k"
            ),
        ] as [([String: String], String)])
    func variablesAreRead(_ variables: [String: String], _ url: String) throws {
        #expect(try located(variables).url == url)
    }

    @Test(
        arguments: [
            (services, "http://service:1/b/k"),
            ("[default]\nendpoint_url=http://global:1\n", "http://global:1/b/k"),
            ("[default]\ns3 =\n  endpoint_url = http://nested:1\n", "http://nested:1/b/k"),
            (
                "[default]\nendpoint_url=http://global:1\nignore_configured_endpoint_urls=TRUE\n",
                "https://b.s3.us-east-1.amazonaws.com/k"
            ),
            (
                "[default]\nendpoint_url=http://h:1\ns3=\n  addressing_style = virtual\n",
                "http://b.h:1/k"
            ),
        ] as [(String, String)])
    func theFileIsRead(_ config: String, _ url: String) throws {
        #expect(try located([:], config: config).url == url)
        // A variable passes over it.
        let named = try located(["AWS_ENDPOINT_URL": "http://v:1"], config: config).url
        #expect(named.contains("v:1") || url.contains("amazonaws"))
    }

    /// Some write all into the file of keys.
    @Test func bothFilesAreRead() throws {
        let request = try located(
            ["AWS_PROFILE": "work"], config: "[profile work]\nregion = eu-west-3\n",
            credentials: "[work]\nendpoint_url = http://c:1\n")
        #expect(request.url == "http://c:1/b/k")
        #expect(request.options.s3?.region == "eu-west-3")
    }

    @Test func theDefaultProfileCanBeNamed() throws {
        let config = "[profile work]\nregion=r-1\n[default]\nregion=r-2\n"
        for name in ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"] {
            let request = try located([name: "work"], config: config)
            #expect(request.options.s3?.region == "r-1")
        }
        let request = try located(
            ["AWS_REGION": "r-3", "AWS_DEFAULT_REGION": "r-4"], config: config)
        #expect(request.options.s3?.region == "r-3")
    }

    /// What may have named a private server is not passed over.
    @Test(
        arguments: [
            (["AWS_PROFILE": "none"], "", "no profile none"),
            ([:], "[default]\nservices = none\n", "names the services none"),
            (["AWS_ENDPOINT_URL": "h:1"], "", nil),
        ] as [([String: String], String, String?)])
    func doubtIsRefused(_ variables: [String: String], _ config: String, _ said: String?) throws {
        do {
            let request = try located(variables, config: config)
            #expect(said == nil && !request.url.contains("amazonaws"), "\(request.url)")
        } catch let error as LonghaulError {
            #expect(error.message.contains(said ?? "none"), "\(error)")
        }
    }

    @Test func certificatesAreNamed() throws {
        try scratch.write("x", to: "ca.pem")
        let path = scratch("ca.pem")
        #expect(try located(["AWS_CA_BUNDLE": path]).options.caCertificate == path)
        let config = "[default]\nca_bundle = ~/ca.pem\n"
        #expect(try located([:], config: config).options.caCertificate == path)
        #expect(throws: LonghaulError.self) { try located(["AWS_CA_BUNDLE": "/none"]) }
    }
}
