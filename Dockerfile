# The operator and the agentpeer command, static, on an image without a shell. `make docker-build` calls it.
FROM golang:1.27.3 AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=dev
RUN export GOOS=$TARGETOS GOARCH=$TARGETARCH && \
    go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o /out/manager ./cmd && \
    go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o /out/agentpeer ./cmd/agentpeer

FROM gcr.io/distroless/static:nonroot
COPY --from=build /out/manager /out/agentpeer /
USER 65532:65532
ENTRYPOINT ["/manager"]
