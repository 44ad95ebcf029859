import Foundation
import LonghaulURLSession

/// The app of Apple's talk "Efficiency awaits: Background tasks in SwiftUI": it looks in the
/// background whether noon will be stormy. Foundation's names only.
struct StormyNoon: Sendable {
    static let session = "com.example.stormynoon"

    let weather: URL
    let configure: @Sendable (URLSessionConfiguration) -> Void

    func isStormy() async -> Bool? {
        let configuration = URLSessionConfiguration.background(
            withIdentifier: StormyNoon.session)
        configuration.sessionSendsLaunchEvents = true
        configure(configuration)
        let session = URLSession(configuration: configuration)
        let request = URLRequest(url: weather)
        let answer = await withTaskCancellationHandler {
            try? await session.data(for: request)
        } onCancel: {
            let task = session.downloadTask(with: request)
            task.resume()
        }
        return answer.map { StormyNoon.isStormy($0.0) }
    }

    static func isStormy(_ forecast: Data) -> Bool {
        String(decoding: forecast, as: UTF8.self).contains("storm")
    }
}
