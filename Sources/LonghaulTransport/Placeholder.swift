// LonghaulTransport
