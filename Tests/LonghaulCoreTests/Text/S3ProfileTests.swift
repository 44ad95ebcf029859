import Testing

@testable import LonghaulCore
@testable import LonghaulModel

private let pair = "aws_access_key_id = AK\naws_secret_access_key = s/e+c=\n"

/// The files of the AWS command line, and which keys a profile has in them.
@Suite struct S3ProfileTests {
    private static let given = S3Keys(id: "AK", secret: "s/e+c=")

    private func found(
        _ profile: String, credentials: String? = nil, config: String? = nil
    ) -> Result<S3Keys, S3KeysProblem> {
        let profile = S3Profile(
            name: profile, credentialsFile: "/c/credentials", configFile: "/c/config")
        do throws(S3KeysProblem) {
            return .success(
                try profile.keys(S3Profile.Texts(credentials: credentials, config: config)))
        } catch {
            return .failure(error)
        }
    }

    private static let texts: [String] = [
        "[work]\n" + pair,
        "[other]\naws_access_key_id=no\n[work]\n" + pair,
        "[ work ]\n" + pair,
        "[work] # mine\n" + pair,
        "# [work]\n[work]\n; a comment\n#aws_session_token = x\n" + pair,
        "[work]\r\n" + pair.split(separator: "\n").joined(separator: "\r\n"),
        "[work]\nAWS_ACCESS_KEY_ID=AK\naws_secret_access_key=s/e+c=",
        // Indented alike, and settings of a setting.
        "[work]\n  aws_access_key_id = AK\n  aws_secret_access_key = s/e+c=\n",
        "[work]\n" + pair + "s3 =\n  aws_access_key_id = no\n\taws_session_token = no\n",
        "[work]\n" + pair + "[workshop]\naws_access_key_id = no\n",
    ]

    @Test(arguments: texts) func credentialsAreRead(_ text: String) {
        #expect(found("work", credentials: text) == .success(Self.given))
    }

    @Test func aTokenGoesWithItsKeys() {
        let text = "[work]\n\(pair)aws_session_token = t==\n"
        let wanted = S3Keys(id: "AK", secret: "s/e+c=", token: "t==")
        #expect(found("work", credentials: text) == .success(wanted))
        // Not with those of the other file.
        let config = "[profile work]\naws_session_token = other\n"
        #expect(
            found("work", credentials: "[work]\n" + pair, config: config)
                == .success(Self.given))
    }

    @Test(arguments: [
        ("work", "[profile work]\n"), ("work", "[profile\t\"work\"]\n"),
        ("default", "[default]\n"), ("default", "[profile default]\n"),
        ("two words", "[profile 'two words']\n"),
    ])
    func configHasKeysToo(_ profile: String, _ header: String) {
        #expect(found(profile, config: header + pair) == .success(Self.given))
        #expect(
            found(profile, credentials: "[\(profile)]\n", config: header + pair)
                == .success(Self.given))
    }

    /// Credentials come before the other file.
    @Test func theCredentialsFileComesFirst() {
        let config = "[profile work]\naws_access_key_id = no\naws_secret_access_key = no\n"
        #expect(
            found("work", credentials: "[work]\n" + pair, config: config)
                == .success(Self.given))
    }

    private static let problems: [(String?, String?, S3KeysProblem)] = [
        (nil, nil, .noProfile),
        ("", "", .noProfile),
        ("[other]\n" + pair, nil, .noProfile),
        // The other file writes its names otherwise.
        ("[profile work]\n" + pair, "[work]\n" + pair, .noProfile),
        ("[work]\naws_access_key_id = AK\n", nil, .noKeys),
        ("[work]\naws_access_key_id = AK\naws_secret_access_key =\n", nil, .noKeys),
        (nil, "[profile work]\nregion = eu-central-1\n", .noKeys),
        (nil, "[profile work]\ncredential_process = /bin/x\n", .unsupported("credential_process")),
        (nil, "[profile work]\nsso_session = s\n", .unsupported("sso_session")),
        (nil, "[profile work]\nsso_start_url = s\n", .unsupported("sso_start_url")),
        // Keys of another identity than the one that is meant.
        ("[work]\n" + pair, "[profile work]\nrole_arn = r\n", .unsupported("role_arn")),
    ]

    @Test(arguments: problems) func whatIsMissingIsSaid(
        _ credentials: String?, _ config: String?, _ problem: S3KeysProblem
    ) {
        #expect(found("work", credentials: credentials, config: config) == .failure(problem))
    }

    /// Tools for logins write keys beside their settings.
    @Test func keysCountWhateverElseStandsThere() {
        let config = "[profile work]\nsso_session = s\n"
        #expect(
            found("work", credentials: "[work]\n" + pair, config: config)
                == .success(Self.given))
    }
}
